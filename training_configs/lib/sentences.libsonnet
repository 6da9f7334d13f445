// What experiments on sentences share: settings of training, loaders, and a player's optimizer.
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';

{
  training: {
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
    // The learning rate of the map of `compound_stacked`; null: as above the encoder. The map reads numbers up to 1 and
    // so needs large weights: with 1e-3 it takes many epochs to choose a tag, with 0.03 one or two.
    map_lr: null,
    grad_norm: 10.0,
    scheduler: 'encoder',
    // Epochs at the start in which cross-entropy alone trains the task-net; the loss-net learns from its outputs. null:
    // half of them.
    warmup_epochs: 0,
    // The number of batches that make an epoch; null: as many as the data have. With few data it sets how many updates
    // there are.
    batches_per_epoch: null,
    seed: 13,
  },

  // Rates of a task's encoders that start at random. Pretrained ones have a field like this.
  rates(task_net_lr, loss_net_lr=task_net_lr, head_lr=null, scheduler=null): {
    task_net_lr: task_net_lr,
    loss_net_lr: loss_net_lr,
    head_lr: head_lr,
    scheduler: scheduler,
  },
  // Of what is above a pretrained encoder that does not change.
  rates_frozen: self.rates(2e-3),

  // For a few hundred labelled instances and a pretrained encoder; to be added to other settings. Small batches make
  // more updates, and the rates rise over the first tenth of all updates, however many these are, and then fall to a
  // thirty-second (Howard & Ruder 2018). With `small_data_frozen` the encoder, `transformer(NAME, frozen=true)`, does
  // not change, and what is above it takes larger rates.
  small_data: {
    epochs: 20,
    batch_size: 8,
    task_net_lr: 5e-5,
    loss_net_lr: 5e-5,
    head_lr: 1e-3,
    scheduler: { type: 'slanted_triangular', cut_frac: 0.1 },
  },
  small_data_frozen: self.small_data + self.rates_frozen { scheduler: $.small_data.scheduler },

  // See `components.fine_tuned`. All sentences of the file count alike, also where the run chose some of its own.
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

  // An experiment of a task, to which it adds what it has besides: `type` is that of its reader and of its model, and
  // `default` has its settings of training, and `rates` those of encoders that have none. Data may have the fields of
  // `known` and must have those of `needed`. What they are with their defaults is in the hidden fields `data` and
  // `training`.
  experiment(type, output_space, data, known, needed, encoder, method, energies, training, default, rates):
    local d = check.validation('dev', data);
    assert check.data(d, known, needed);
    assert check.encoder(encoder);
    assert check.method(method);
    assert check.object('training', training);
    local model = { type: type, output_space: output_space, task_net: { encoder: encoder.settings } }
                  + method(encoder.settings, energies);
    local given = default + training;
    local of_encoder = std.get(encoder, 'rates', rates);
    local all = given {
      [name]: of_encoder[name]
      for name in std.objectFields(of_encoder)
      if given[name] == 'encoder'
    } + {
      [if given.warmup_epochs == null then 'warmup_epochs']:
        if std.objectHas(model, 'loss_net') then std.floor(given.epochs / 2) else 0,
    };
    assert check.training(all, default);
    components.seeds(all.seed) {
      data:: d,
      training:: all,
      dataset_reader:
        { type: type } + std.get(encoder, 'reader', { token_indexers: encoder.indexers }) + std.get(d, 'reader', {}),
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
        optimizer: optimizer {
          lr: lr,
          [if std.length(groups) > 0 then 'parameter_groups']: groups,
        },
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
      validation_data_loader: {
        batch_sampler: { type: 'by_length', batch_size: 64 },
      },
      trainer: {
        type: 'alternating',
        num_epochs: all.epochs,
        patience: all.patience,
        validation_metric: '+f1',
        [if with_task_net then 'task_net']:
          player(all.task_net_lr, all.task_net_optimizer, all.map_lr),
        [if with_loss_net then 'loss_net']: player(all.loss_net_lr, all.loss_net_optimizer),
        [if all.warmup_epochs > 0 then 'phases']: [
          { epochs: all.warmup_epochs, energy: false },
          {},
        ],
      } + of_method + {
        [if std.objectHas(of_method, 'self_training') then 'self_training']+:
          check.unlabelled(d, of_method.self_training),
      },
    },
}
