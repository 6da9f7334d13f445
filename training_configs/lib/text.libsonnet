// Multi-label classification of texts: `experiment` puts data, encoder, method and training together.
local methods = (import 'methods.libsonnet')();
local sentences = import 'sentences.libsonnet';
local data = import 'text_data.libsonnet';
local encoders = import 'text_encoders.libsonnet';

{
  data: data,
  encoder: encoders,
  method: {
    cross_entropy: methods.cross_entropy,
    spen_end_to_end: methods.spen_end_to_end,
    margin: methods.margin,
    nce: methods.nce,
    ranking: methods.ranking,
    regression_discrete: methods.regression_discrete,
    implicit_cd: methods.implicit_cd,
    implicit_ssvm: methods.implicit_ssvm,
    own: methods.own,
    // A small energy chooses among the label sets of the training data.
    structured(over=methods.cross_entropy(), structure={ type: 'label_sets' }, folds=3, folds_with_loss_net=true):
      methods.structured(over, structure, folds, folds_with_loss_net),
    self_training(over=$.method.structured(), hard=false, labelled_share=0.5):
      methods.self_training(over, hard, labelled_share),
    distilled(over=$.method.structured(), hard=false, labelled_share=0.5):
      methods.distilled(over, hard, labelled_share),
  },

  // The energy of a set of labels: each label with the text, and all labels together. `patterns` is the number of rows
  // of the latter term's matrix.
  energies(patterns=200): [{ type: 'local' }, { type: 'label_interaction', hidden_dim: patterns }],

  // Settings of training. Change one with `text.training.sample { epochs: 30 }`.
  training: {
    default: sentences.training {
      epochs: 5,
      // Micro F1, which the papers report for texts; 'f1' is the mean over texts.
      metric: 'micro_f1',
    },
    // For few data: `training=text.training.default + text.training.small_data`.
    small_data: sentences.small_data,
    small_data_frozen: sentences.small_data_frozen,
    sample: self.default { epochs: 20 },
    reuters: self.default { epochs: 8 },
    goemotions: self.default { epochs: 4 },
    aapd: self.default { epochs: 8, patience: 3 },
    rcv1: self.default { epochs: 8, patience: 3 },
    bgc: self.default { epochs: 8, patience: 3 },
    nyt: self.default { epochs: 4 },
  },

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of dev. The
  // labels of the file are not used. `config` is that of the run.
  //   text.fine_tuned(import '../text_margin.jsonnet', 'runs/it', 'data/text_sample/valid.jsonl')
  fine_tuned: sentences.fine_tuned,

  experiment(
    data=error 'set data: text.data.sample or { train, dev, test, reader }',
    encoder=error "set encoder: text.encoder.bilstm() or text.encoder.transformer('NAME')",
    method=error 'set method: text.method.nce() or another',
    training={},
    energies=$.energies(),
  ):
    sentences.experiment(
      'seal_text_multilabel',
      { type: 'label_set' },
      data,
      $.data.sample { unlabelled: '', plain_text: false },
      ['train', 'dev', 'reader'],
      encoder,
      method,
      energies,
      training,
      $.training.default,
      sentences.rates(3e-3),
    ) {
      local metric = super.training.metric,
      trainer+: {
        validation_metric: '+' + metric,
        callbacks: [{ type: 'tune_thresholds', metric: if std.startsWith(metric, 'f1') then 'f1' else 'micro_f1' }],
      },
    },
}
