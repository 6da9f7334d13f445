// Semantic role labelling: `experiment` puts data, encoder, method and training together.
local data = import 'srl_data.libsonnet';
local encoders = import 'encoders.libsonnet';
local methods = import 'methods.libsonnet';

{
  data: data,
  encoder: encoders,
  method: methods,

  // The energy of a frame: each word with its tag, each tag with the next, and the frame as a whole.
  energies(hidden_dim=256, num_heads=1, pooling='sum', dropout=0.0): [
    { type: 'local' },
    { type: 'self_attention', hidden_dim: hidden_dim, num_heads: num_heads, pooling: pooling, dropout: dropout },
  ],

  // `fraction` of the training sentences, always the same ones.
  experiment(
    data=error 'set data: srl.data.sample, srl.data.ewt or { train, dev, test }',
    encoder=error "set encoder: srl.encoder.bilstm() or srl.encoder.transformer('NAME')",
    method=error 'set method: srl.method.nce() or another',
    energies=$.energies(),
    epochs=10,
    patience=null,
    batch_size=32,
    task_net_lr=1e-3,
    loss_net_lr=1e-3,
    grad_norm=10.0,
    scheduler=null,
    fraction=1.0,
    seed=13,
  ): {
    local with_loss_net = std.objectHas(self.model, 'loss_net'),
    local reader = { type: 'seal_srl', token_indexers: encoder.indexers },
    local player(lr) = {
      optimizer: { type: 'fused_adamw', lr: lr },
      grad_norm: grad_norm,
      [if scheduler != null then 'learning_rate_scheduler']: scheduler,
    },
    random_seed: seed,
    numpy_seed: seed,
    pytorch_seed: seed,
    dataset_reader: reader { fraction: fraction },
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
      batch_sampler: { type: 'bucket', batch_size: batch_size, sorting_keys: ['tokens'] },
    },
    validation_data_loader: {
      batch_sampler: { type: 'bucket', batch_size: 64, sorting_keys: ['tokens'], shuffle: false },
    },
    trainer: {
      type: 'alternating',
      num_epochs: epochs,
      patience: patience,
      validation_metric: '+f1',
      task_net: player(task_net_lr),
      [if with_loss_net then 'loss_net']: player(loss_net_lr),
    },
  },
}
