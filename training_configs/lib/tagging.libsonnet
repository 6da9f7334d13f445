// Sequence labelling: `experiment` puts data, encoder, method and training together.
local data = import 'tagging_data.libsonnet';
local encoders = import 'tagging_encoders.libsonnet';
local methods = import 'tagging_methods.libsonnet';

{
  data: data,
  encoder: encoders,
  method: methods,

  // The energy of a tagging: each word with its tag, and each tag with the one before it. In the place of the latter
  // language models of tags: `tagging.energies({ type: 'tag_language_model', backward: true })`.
  energies(pairs={ type: 'linear_chain' }): [{ type: 'local' }, pairs],

  // Settings of training. Change one with `tagging.training.sample { epochs: 30 }`.
  training: {
    default: {
      epochs: 20,
      patience: null,
      batch_size: 32,
      task_net_lr: 1e-3,
      loss_net_lr: 1e-3,
      // Of everything above the encoders; null: as the encoder of the same player.
      head_lr: null,
      grad_norm: 10.0,
      scheduler: null,
      // Epochs by cross-entropy at the start, while the loss-net learns from the task-net's outputs.
      warmup_epochs: 0,
      seed: 13,
    },
    sample: self.default { epochs: 10, task_net_lr: 5e-3, loss_net_lr: 5e-3 },
    twitter_pos: self.default { epochs: 30, patience: 10, batch_size: 10 },
    wnut17: self.default { epochs: 20, patience: 6 },
  },

  experiment(
    data=error 'set data: tagging.data.sample or { train, dev, test, reader, encoding }',
    encoder=error "set encoder: tagging.encoder.bilstm() or tagging.encoder.transformer('NAME')",
    method=error 'set method: tagging.method.nce() or another',
    training=$.training.default,
    energies=$.energies(),
  ): {
    local parts = method(encoder.settings, energies),
    local with_task_net = std.objectHas(self.model, 'task_net'),
    local with_loss_net = std.objectHas(self.model, 'loss_net'),
    local player(lr) = {
      optimizer: {
        type: 'fused_adamw',
        lr: lr,
        [if training.head_lr != null then 'parameter_groups']: [
          [['head', 'crf', 'energies'], { lr: training.head_lr }],
        ],
      },
      grad_norm: training.grad_norm,
      [if training.scheduler != null then 'learning_rate_scheduler']: training.scheduler,
    },
    random_seed: training.seed,
    numpy_seed: training.seed,
    pytorch_seed: training.seed,
    dataset_reader: { type: 'seal_tagging', token_indexers: encoder.indexers } + data.reader,
    train_data_path: data.train,
    validation_data_path: data.dev,
    vocabulary: encoder.vocabulary,
    datasets_for_vocab_creation: encoder.vocabulary_from,
    model: {
      type: 'seal_tagging',
      output_space: { type: 'tag_sequence', encoding: data.encoding },
      task_net: { encoder: encoder.settings },
    } + parts,
    data_loader: {
      batch_sampler: { type: 'bucket', batch_size: training.batch_size, sorting_keys: ['tokens'] },
    },
    validation_data_loader: {
      batch_sampler: { type: 'bucket', batch_size: 64, sorting_keys: ['tokens'], shuffle: false },
    },
    trainer: {
      type: 'alternating',
      num_epochs: training.epochs,
      patience: training.patience,
      validation_metric: if data.encoding == null then '+accuracy' else '+f1',
      [if with_task_net then 'task_net']: player(training.task_net_lr),
      [if with_loss_net then 'loss_net']: player(training.loss_net_lr),
      [if with_loss_net && with_task_net && training.warmup_epochs > 0 then 'phases']: [
        { epochs: training.warmup_epochs, energy: false },
        {},
      ],
    } + if std.objectHasAll(parts, 'trainer') then parts.trainer else {},
  },
}
