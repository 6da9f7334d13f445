// Semantic role labelling: `experiment` puts data, encoder, method and training together.
local data = import 'srl_data.libsonnet';
local encoders = import 'encoders.libsonnet';
local methods = (import 'methods.libsonnet')();
local sentences = import 'sentences.libsonnet';

{
  data: data,
  encoder: encoders,
  method: methods,

  // The energy of a frame: each word with its tag, and all tags together. With `pooling` 'sum', a second A0 costs as
  // much in a long sentence as in a short one; with 'mean', the energy's default, it costs less in a longer sentence.
  energies(hidden_dim=256, num_heads=1, pooling='sum', dropout=0.0): [
    { type: 'local' },
    { type: 'self_attention', hidden_dim: hidden_dim, num_heads: num_heads, pooling: pooling, dropout: dropout },
  ],

  // Settings of training. Change one with `srl.training.sample { epochs: 30 }`.
  training: {
    default: sentences.training {
      // The part of the training sentences that is used, always the same ones.
      fraction: 1.0,
      // The part of the sentences that train the predicate finder in an epoch, each time others. A sentence takes as
      // long as a frame, and the roles gain from it, too.
      sentence_share: 1.0,
    },
    // For a BiLSTM: on real text, too.
    sample: self.default { epochs: 15 },
    // For a transformer.
    ewt: self.default { epochs: 3, batch_size: 16 },
    // For few data: `training=srl.training.default + srl.training.small_data`.
    small_data: sentences.small_data,
    small_data_frozen: sentences.small_data_frozen,
    // SEAL, NeurIPS 2022; settings of its authors' code.
    conll2012: self.default {
      epochs: 20,
      patience: 4,
      batch_size: 16,
      task_net_lr: 1e-5,
      loss_net_lr: 1e-5,
      head_lr: null,
      scheduler: null,
      grad_norm: 1.0,
    },
  },

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of dev. The
  // labels of the file are not used. `config` is that of the run.
  //   srl.fine_tuned(import '../srl_margin.jsonnet', 'runs/it', 'data/srl_sample/dev.gold_conll')
  fine_tuned: sentences.fine_tuned,

  experiment(
    data=error 'set data: srl.data.sample, srl.data.ewt or { train, dev, test }',
    encoder=error "set encoder: srl.encoder.bilstm() or srl.encoder.transformer('NAME')",
    method=error 'set method: srl.method.nce() or another',
    training={},
    energies=$.energies(),
  ):
    sentences.experiment(
      'seal_srl',
      { type: 'tag_sequence', namespace: 'srl_tags' },
      data,
      $.data.sample { tags: [], reader: {}, unlabelled: '', plain_text: false },
      ['train', 'dev'],
      encoder,
      method,
      energies,
      training,
      $.training.default,
      sentences.rates(3e-3, 1e-3, scheduler=$.training.small_data.scheduler),
    ) {
      local reader = super.dataset_reader,
      local d = super.data,
      local all = super.training,
      // What is wrong in test is told before training, and not by the evaluation after it.
      dataset_reader: reader { fraction: all.fraction, [if std.get(d, 'test') != null then 'also_check']: d.test },
      data_loader+: {
        batch_sampler: { type: 'frames', batch_size: all.batch_size, sentence_share: all.sentence_share },
      },
      validation_dataset_reader: reader,
      [if std.objectHasAll(data, 'tags') then 'vocabulary']+: { tokens_to_add: { srl_tags: data.tags } },
    },
}
