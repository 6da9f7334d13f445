// Sequence labelling: `experiment` puts data, encoder, method and training together.
local check = import 'check.libsonnet';
local data = import 'tagging_data.libsonnet';
local encoders = import 'tagging_encoders.libsonnet';
local methods = (import 'tagging_methods.libsonnet')();
local sentences = import 'sentences.libsonnet';

{
  data: data,
  encoder: encoders,
  method: methods,

  // The energy of a tagging: each word with its tag, each tag with the one before it and, if given, a term of the whole
  // sequence: `tagging.energies(tagging.whole.ge_b)`, or any other energy.
  energies(whole=null):
    assert whole == null || check.object('energies', whole);
    [{ type: 'local' }, { type: 'linear_chain' }] + if whole == null then [] else [whole],

  // Language models of tags (Tu, Pang & Gimpel 2020, section 5).
  whole: {
    ge_a: { type: 'tag_language_model' },
    ge_b: self.ge_a { backward: true },
    // The paper tunes `gamma`. Words are projected to the size of a tag's embedding. Unless given, `word_embedder` is
    // like that of a BiLSTM encoder and reads each word by itself. With a transformer it is null: the words' vectors
    // are then the transformer's, which depend on all words.
    ge_c: self.ge_b { gamma: 1.0, word_dim: 32 },
  },

  // Settings of training. Change one with `tagging.training.sample { epochs: 30 }`.
  training: {
    default: sentences.training { epochs: 20 },
    // For a BiLSTM; a transformer takes `default`, or `sample + tagging.training.transformer`.
    sample: self.default { epochs: 10, task_net_lr: 5e-3, loss_net_lr: 5e-3 },
    twitter_pos: self.default { epochs: 30, patience: 10, batch_size: 10 },
    wnut17: self.default { epochs: 20, patience: 6 },
    ud_ewt_pos: self.default { epochs: 10, patience: 4 },
    ud_ewt_pos_halves: self.ud_ewt_pos,
    // The paper's optimizer (Adam) and learning rate, with early stopping on dev, which ends after about 25 epochs.
    // Inference networks without local cross-entropy take about 100: add `{ epochs: 150, patience: 25 }`.
    conll2003: self.default {
      local adam = { type: 'fused_adamw', weight_decay: 0 },
      epochs: 30,
      patience: 5,
      task_net_lr: 5e-4,
      loss_net_lr: 5e-4,
      task_net_optimizer: adam,
      loss_net_optimizer: adam,
    },
    // How the paper trains inference networks for parts of speech (Tu, Pang & Gimpel 2020, section 6): the networks by
    // SGD with momentum, the energy by Adam, until dev is no better; they stop after about 60 epochs. To be added to
    // other settings: `training=tagging.training.twitter_pos + tagging.training.sgd_networks`. Rates, momentum and
    // patience are ours, as the paper has none.
    sgd_networks: {
      epochs: 100,
      patience: 10,
      task_net_lr: 0.05,
      task_net_optimizer: { type: 'sgd', momentum: 0.9 },
      loss_net_optimizer: { type: 'fused_adamw', weight_decay: 0 },
    },
    // The same without local cross-entropy (`tau=0`), where the networks need Adam and about 150 epochs. Patience is
    // long, as they are no better for many epochs before they learn.
    adam_networks: self.sgd_networks {
      epochs: 250,
      patience: 25,
      task_net_lr: 1e-3,
      task_net_optimizer: { type: 'fused_adamw', weight_decay: 0 },
    },
    // For few data: `training=tagging.training.default + tagging.training.small_data`.
    small_data: sentences.small_data,
    small_data_frozen: sentences.small_data_frozen,
    // For a pretrained transformer, with its rates; to be added to other settings:
    // `training=tagging.training.wnut17 + tagging.training.transformer`.
    transformer: check.given($.encoder.transformer('').rates, ['task_net_lr', 'loss_net_lr', 'head_lr']) {
      epochs: 6,
      patience: null,
    },
  },

  // Tunes the task-net of a finished run for the least energy on the words of a file, such as those of dev; with those
  // of test this is transductive (Tu, Pang & Gimpel 2020, section 2). The tags of the file are not used, but the run
  // has to know them; with `tagged=false` the file has none. `config` is that of the run.
  //   tagging.fine_tuned(import '../tagging_margin_rescaled.jsonnet', 'runs/margin', 'data/tagging_sample/test.tsv')
  fine_tuned(config, run, inputs, epochs=3, tagged=true):
    sentences.fine_tuned(config, run, inputs, epochs)
    + if tagged then {} else {
      dataset_reader+: { tag_column: null },
      validation_dataset_reader: std.get(config, 'validation_dataset_reader', config.dataset_reader),
    },

  experiment(
    data=error 'set data: tagging.data.sample or { train, dev, test, reader, encoding }',
    encoder=error "set encoder: tagging.encoder.bilstm() or tagging.encoder.transformer('NAME')",
    method=error 'set method: tagging.method.nce() or another',
    training={},
    energies=$.energies(),
  ):
    local embedder = std.get(encoder.settings, 'embedder');
    local with_words(energy) =
      if std.get(energy, 'gamma', 0) > 0 then { word_embedder: embedder } + energy else energy;
    sentences.experiment(
      'seal_tagging',
      { type: 'tag_sequence', encoding: data.encoding },
      data,
      $.data.sample { unlabelled: '', plain_text: false },
      ['train', 'dev', 'reader', 'encoding'],
      encoder,
      method,
      if std.isArray(energies) then std.map(with_words, energies)
      else error 'energies: this must be a list; call tagging.energies(...), with what it is to add',
      training,
      $.training.default,
      sentences.rates(3e-3, 1e-3),
    ) {
      local d = super.data,
      local read = std.get(d.reader, 'target_encoding', std.get(d.reader, 'encoding')),
      assert read == null || read == d.encoding :
             "data: the reader's tags are %s, and 'encoding' is %s; let both be the same" % [read, d.encoding],
      // What the encoder does not read is not read from files either, so that raw text can do without it.
      local features = std.objectFields(std.get(encoder.settings, 'features', {})),
      local columns = std.get(d.reader, 'feature_columns', {}),
      local used = { [name]: columns[name] for name in std.objectFields(columns) if std.member(features, name) },
      dataset_reader+: {
        [if std.objectHas(d.reader, 'feature_columns') then 'feature_columns']: used,
        [if std.objectHas(d.reader, 'case') then 'case']: d.reader.case && std.member(features, 'case'),
        // A tag of test that breaks the encoding is told before training, and not by the evaluation after it.
        [if d.encoding != null && std.get(d, 'test') != null then 'also_check']: d.test,
      },
      trainer+: { validation_metric: if d.encoding == null then '+accuracy' else '+f1' },
    },
}
