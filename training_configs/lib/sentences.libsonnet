// What experiments on sentences share: settings of training, loaders, and a player's optimizer.
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';

{
  training: {
    epochs: 10,
    patience: null,
    batch_size: 32,
    task_net_lr: 1e-3,
    loss_net_lr: 1e-3,
    // Any optimizer of AllenNLP, with its settings, such as `weight_decay`.
    task_net_optimizer: { type: 'fused_adamw' },
    loss_net_optimizer: { type: 'fused_adamw' },
    // The learning rate of everything above the encoders of inputs; null: that of the encoder of the same player.
    head_lr: null,
    // The learning rate of the map of `compound_stacked`; null: as above the encoder. The map reads numbers up to 1 and
    // so needs large weights: with 1e-3 it takes many epochs to choose a tag, with 0.03 one or two.
    map_lr: null,
    grad_norm: 10.0,
    scheduler: null,
    // Epochs at the start in which cross-entropy alone trains the task-net; the loss-net learns from its outputs.
    warmup_epochs: 0,
    // The number of batches that make an epoch; null: as many as the data have. With few data it sets how many updates
    // there are.
    batches_per_epoch: null,
    seed: 13,
  },

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
  small_data_frozen: self.small_data { task_net_lr: 2e-3, loss_net_lr: 2e-3, head_lr: null },

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

  // An experiment without its reader, which the task adds. The model's hidden field `trainer` has what a method sets in
  // the trainer.
  experiment(data, encoder, model, training, validation_metric): {
    local of_method = if std.objectHasAll(model, 'trainer') then model.trainer else {},
    local with_task_net = std.objectHas(model, 'task_net'),
    local with_loss_net = std.objectHas(model, 'loss_net'),
    assert training.warmup_epochs == 0 || with_task_net && with_loss_net :
           "training: 'warmup_epochs' changes nothing without both a task-net and a loss-net; leave it out",
    // A stacked network's encoder reads tags, and starts at random.
    local stacked = std.get(std.get(model, 'cost_augmented_net', {}), 'type') == 'stacked',
    local encodes_tags = stacked && std.objectHas(model.cost_augmented_net, 'encoder'),
    local decodes = with_task_net && std.get(std.get(model.task_net, 'encoder', {}), 'type') == 'attention_decoder',
    local unrolled = with_task_net && std.get(model.task_net, 'type') == 'unrolled',
    assert training.map_lr == null || stacked : "training: 'map_lr' is for compound_stacked; leave it out",
    // Where a parameter's name has one of these, it is above the encoders.
    local above =
      (if decodes then ['encoder[.]_(symbols|lstm|start|query|combine)[.]', '^loss_net[.]_layer[.]'] else [])
      + (
        if training.map_lr != null then ['^(?!cost_augmented_net).*head', 'crf', 'energies']
        else
          ['head', 'crf', 'energies']
          + (if unrolled then ['log_step_sizes', 'momentum_logit'] else [])
          + if encodes_tags then ['^cost_augmented_net[.]_encoder[.]'] else []
      ),
    local player(lr, optimizer, map_lr=null) = {
      local groups =
        (if map_lr == null then [] else [[['^cost_augmented_net[.]'], { lr: map_lr }]])
        + (if training.head_lr == null then [] else [[above, { lr: training.head_lr }]]),
      optimizer: optimizer {
        lr: lr,
        [if std.length(groups) > 0 then 'parameter_groups']: groups,
      },
      grad_norm: training.grad_norm,
      [if training.scheduler != null then 'learning_rate_scheduler']: training.scheduler,
    },
    random_seed: training.seed,
    numpy_seed: training.seed,
    pytorch_seed: training.seed,
    train_data_path: data.train,
    validation_data_path: data.dev,
    vocabulary: encoder.vocabulary,
    datasets_for_vocab_creation: encoder.vocabulary_from,
    model: model,
    data_loader: {
      batch_sampler: { type: 'by_size', batch_size: training.batch_size },
      [if training.batches_per_epoch != null then 'batches_per_epoch']: training.batches_per_epoch,
    },
    validation_data_loader: {
      batch_sampler: { type: 'by_length', batch_size: 64 },
    },
    trainer: {
      type: 'alternating',
      num_epochs: training.epochs,
      patience: training.patience,
      validation_metric: validation_metric,
      [if with_task_net then 'task_net']:
        player(training.task_net_lr, training.task_net_optimizer, training.map_lr),
      [if with_loss_net then 'loss_net']: player(training.loss_net_lr, training.loss_net_optimizer),
      [if training.warmup_epochs > 0 then 'phases']: [
        { epochs: training.warmup_epochs, energy: false },
        {},
      ],
    } + of_method + {
      [if std.objectHas(of_method, 'self_training') then 'self_training']+:
        check.unlabelled(data, of_method.self_training),
    },
  },
}
