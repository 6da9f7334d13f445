// What tasks on sentences and texts share. A task is this object with its data, encoders, methods, energies and further
// settings of training; its hidden fields say what reader, model and messages need:
//
//   name            the task's
//   type            of reader and model, where it is not `seal_<name>`
//   output_space    a function of the data
//   needed, known   fields that data must have, and those that they may have besides the sample's
//   rates           those of encoders that bring none
//   config          a function of the arguments of `experiment`, which adds to `super.config` what the task has besides
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';
local encoders = import 'encoders.libsonnet';

{
  // Settings of training. Change one with `srl.training.sample { epochs: 30 }`.
  training: {
    default: {
      epochs: 10,
      patience: null,
      batch_size: 32,
      // 'encoder', of rates and scheduler: as the encoder needs it. One that starts at random takes a rate at which a
      // pretrained one forgets what it knows, and learns next to nothing at the other's.
      task_net_lr: 'encoder',
      loss_net_lr: 'encoder',
      // Any optimizer of AllenNLP, with its settings, such as `weight_decay`.
      task_net_optimizer: { type: 'fused_adamw' },
      loss_net_optimizer: { type: 'fused_adamw' },
      // The learning rate of everything above the encoders of inputs; null: that of the encoder of the same player.
      head_lr: 'encoder',
      // The learning rate of the map of `compound_stacked`; null: as above the encoder. The map reads numbers up to 1
      // and so needs large weights: with 1e-3 it takes many epochs to choose a tag, with 0.03 one or two.
      map_lr: null,
      grad_norm: 10.0,
      scheduler: 'encoder',
      // Epochs at the start in which cross-entropy alone trains the task-net; the loss-net learns from its outputs.
      // null: half of them.
      warmup_epochs: 0,
      // The number of batches that make an epoch; null: as many as the data have. With few data it sets how many
      // updates there are.
      batches_per_epoch: null,
      seed: 13,
    },
    // For a few hundred labelled instances and a pretrained encoder; to be added to other settings:
    // `training=text.training.default + text.training.small_data`. Small batches make more updates, and the rates rise
    // over the first tenth of all updates, however many these are, and then fall to a thirty-second (Howard & Ruder
    // 2018). With `small_data_frozen` the encoder, `transformer(NAME, frozen=true)`, does not change, and what is above
    // it takes larger rates.
    small_data: {
      epochs: 20,
      batch_size: 8,
      task_net_lr: 5e-5,
      loss_net_lr: 5e-5,
      head_lr: 1e-3,
      scheduler: { type: 'slanted_triangular', cut_frac: 0.1 },
    },
    small_data_frozen: self.small_data + encoders.rates_frozen { scheduler: $.training.small_data.scheduler },
  },

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of dev
  // (`components.fine_tuned`). The labels of the file are not used. `config` is that of the run.
  //   srl.fine_tuned(import '../srl_margin.jsonnet', 'runs/it', 'data/srl_sample/dev.gold_conll')
  // All sentences of the file count alike, also where the run chose some of its own.
  fine_tuned(config, run, inputs, epochs=3): components.fine_tuned(config, run, inputs, epochs) {
    dataset_reader: {
      [key]: config.dataset_reader[key]
      for key in std.objectFields(config.dataset_reader)
      if !std.member(['max_instances', 'labelled', 'unlabelled', 'plain_text', 'fraction'], key)
    },
    data_loader: {
      local sampler = std.get(config.data_loader, 'batch_sampler', {}),
      batch_sampler: {
        type: 'by_size',
        batch_size: std.get(sampler, 'batch_size', std.get(config.data_loader, 'batch_size', 16)),
      },
    },
  },

  // What an argument of `experiment` is where it is not given.
  unset:: {
    data: error 'set data: %s.data.sample or { %s }' % [$.name, std.join(', ', $.needed + ['test'])],
    encoder: error "set encoder: %s.encoder.bilstm() or %s.encoder.transformer('NAME')" % [$.name, $.name],
    method: error 'set method: %s.method.nce() or another' % $.name,
  },

  experiment(
    data=$.unset.data, encoder=$.unset.encoder, method=$.unset.method, training={}, energies=$.energies()
  ):
    local d = check.validation('dev', data);
    assert check.data(d, $.data.sample + $.known, $.needed);
    assert check.encoder(encoder);
    assert check.method(method);
    assert check.object('training', training);
    assert std.isArray(energies) :
           'energies: this must be a list; call %s.energies(...), with what it is to add' % $.name;
    $.config({ data: d, encoder: encoder, method: method, training: training, energies: energies }),

  type:: 'seal_' + $.name,
  needed:: ['train', 'dev'],
  known:: {},
  config(given)::
    local d = given.data;
    local encoder = given.encoder;
    local model = {
      type: $.type,
      output_space: $.output_space(d),
      task_net: { encoder: encoder.settings },
    } + given.method(encoder.settings, given.energies);
    local default = $.training.default;
    local wanted = default + given.training;
    local of_encoder = std.get(encoder, 'rates', $.rates);
    local all = wanted {
      [name]: of_encoder[name]
      for name in std.objectFields(of_encoder)
      if wanted[name] == 'encoder'
    } + {
      [if wanted.warmup_epochs == null then 'warmup_epochs']:
        if std.objectHas(model, 'loss_net') then std.floor(wanted.epochs / 2) else 0,
    };
    assert check.training(all, default);
    components.seeds(all.seed) {
      training:: all,
      dataset_reader:
        { type: $.type } + std.get(encoder, 'reader', { token_indexers: encoder.indexers }) + std.get(d, 'reader', {}),
      // What a method sets in the trainer is in the model's hidden field `trainer`.
      local of_method = if std.objectHasAll(model, 'trainer') then model.trainer else {},
      local with_task_net = std.objectHas(model, 'task_net'),
      local with_loss_net = std.objectHas(model, 'loss_net'),
      assert all.warmup_epochs == 0 || with_task_net && with_loss_net :
             "training: 'warmup_epochs' changes nothing without both a task-net and a loss-net; leave it out",
      // A stacked network's encoder reads tags, and starts at random.
      local stacked = std.get(std.get(model, 'cost_augmented_net', {}), 'type') == 'stacked',
      local encodes_tags = stacked && std.objectHas(model.cost_augmented_net, 'encoder'),
      local decodes = with_task_net && std.get(std.get(model.task_net, 'encoder', {}), 'type') == 'attention_decoder',
      local unrolled = with_task_net && std.get(model.task_net, 'type') == 'unrolled',
      assert all.map_lr == null || stacked : "training: 'map_lr' is for compound_stacked; leave it out",
      // Where a parameter's name has one of these, it is above the encoders. They are joined, as AllenNLP warns of each
      // expression that no name has, and few nets have a CRF.
      local above =
        (if decodes then ['encoder[.]_(symbols|lstm|start|query|combine)[.]', '^loss_net[.]_layer[.]'] else [])
        + (
          if all.map_lr != null then ['^(?!cost_augmented_net).*head', 'crf', 'energies']
          else
            ['head', 'crf', 'energies']
            + (if unrolled then ['log_step_sizes', 'momentum_logit'] else [])
            + if encodes_tags then ['^cost_augmented_net[.]_encoder[.]'] else []
        ),
      local player(lr, optimizer, map_lr=null) = {
        local groups =
          (if map_lr == null then [] else [[['^cost_augmented_net[.]'], { lr: map_lr }]])
          + (if all.head_lr == null then [] else [[[std.join('|', above)], { lr: all.head_lr }]]),
        optimizer: optimizer { lr: lr, [if std.length(groups) > 0 then 'parameter_groups']: groups },
        grad_norm: all.grad_norm,
        [if all.scheduler != null then 'learning_rate_scheduler']: all.scheduler,
      },
      train_data_path: d.train,
      validation_data_path: d.dev,
      vocabulary: encoder.vocabulary,
      datasets_for_vocab_creation: encoder.vocabulary_from,
      model: model,
      data_loader: {
        batch_sampler: { type: 'by_size', batch_size: all.batch_size },
        [if all.batches_per_epoch != null then 'batches_per_epoch']: all.batches_per_epoch,
      },
      validation_data_loader: { batch_sampler: { type: 'by_length', batch_size: 64 } },
      trainer: components.trainer({
        type: 'alternating',
        num_epochs: all.epochs,
        patience: all.patience,
        validation_metric: '+f1',
        [if with_task_net then 'task_net']: player(all.task_net_lr, all.task_net_optimizer, all.map_lr),
        [if with_loss_net then 'loss_net']: player(all.loss_net_lr, all.loss_net_optimizer),
        [if all.warmup_epochs > 0 then 'phases']: [{ epochs: all.warmup_epochs, energy: false }, {}],
      }, of_method, d),
    },
}
