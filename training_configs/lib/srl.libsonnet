// Semantic role labelling: `experiment` puts data, encoder, method and training together.
local data = import 'srl_data.libsonnet';
local encoders = import 'encoders.libsonnet';
local methods = import 'methods.libsonnet';

{
  data: data,
  encoder: encoders,
  method: methods,

  // The energy of a frame: each word with its tag, and all tags together.
  energies(hidden_dim=256, num_heads=1, pooling='sum', dropout=0.0): [
    { type: 'local' },
    { type: 'self_attention', hidden_dim: hidden_dim, num_heads: num_heads, pooling: pooling, dropout: dropout },
  ],

  // Settings of training. Change one with `srl.training.sample { epochs: 30 }`.
  training: {
    default: {
      epochs: 10,
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
      // Of the training sentences, always the same ones.
      fraction: 1.0,
      seed: 13,
    },
    sample: self.default { epochs: 15, task_net_lr: 3e-3 },
    ewt: self.default {
      epochs: 3,
      batch_size: 16,
      task_net_lr: 1e-4,
      loss_net_lr: 1e-4,
      head_lr: 1e-3,
      scheduler: { type: 'linear_with_warmup', warmup_steps: 200 },
    },
    // SEAL, NeurIPS 2022; settings of its authors' code.
    conll2012: self.default {
      epochs: 20,
      patience: 4,
      batch_size: 16,
      task_net_lr: 1e-5,
      loss_net_lr: 1e-5,
      grad_norm: 1.0,
    },
  },

  experiment(
    data=error 'set data: srl.data.sample, srl.data.ewt or { train, dev, test }',
    encoder=error "set encoder: srl.encoder.bilstm() or srl.encoder.transformer('NAME')",
    method=error 'set method: srl.method.nce() or another',
    training=$.training.default,
    energies=$.energies(),
  ): {
    local with_loss_net = std.objectHas(self.model, 'loss_net'),
    local reader = { type: 'seal_srl', token_indexers: encoder.indexers },
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
    dataset_reader: reader { fraction: training.fraction },
    validation_dataset_reader: reader,
    train_data_path: data.train,
    validation_data_path: data.dev,
    vocabulary: encoder.vocabulary,
    datasets_for_vocab_creation: encoder.vocabulary_from,
    model: {
      type: 'seal_srl',
      output_space: { type: 'tag_sequence', namespace: 'srl_tags' },
      task_net: { encoder: encoder.settings },
    } + method(encoder.settings, energies),
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
      validation_metric: '+f1',
      task_net: player(training.task_net_lr),
      [if with_loss_net then 'loss_net']: player(training.loss_net_lr),
      [if with_loss_net && training.warmup_epochs > 0 then 'phases']: [
        { epochs: training.warmup_epochs, energy: false },
        {},
      ],
    },
  },
}
