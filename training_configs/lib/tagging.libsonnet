// Sequence labelling: `experiment` puts data, encoder, method and training together.
local check = import 'check.libsonnet';
local files = (import 'components.libsonnet').files;
local encoders = import 'encoders.libsonnet';
local methods = (import 'tagging_methods.libsonnet')();

(import 'sentences.libsonnet') {
  name:: 'tagging',
  known:: { reader: {}, encoding: 'auto', unlabelled: '', plain_text: false },

  // The encoding of the files and the one in which tags are learned: the reader's settings have them, or `encoding` beside
  // these. 'auto' is as the files write them.
  local encodings(d) =
    local reader = std.get(d, 'reader', {});
    assert !std.objectHas(reader, 'type') || std.objectHas(d, 'encoding') || std.objectHas(reader, 'encoding') :
           "data: with a reader of another type, set 'encoding': 'BIO', 'BIOES', or null for tags that write no spans";
    local file = std.get(reader, 'encoding', std.get(d, 'encoding', 'auto'));
    local of_data = std.get(d, 'encoding', file);
    local default = if file != 'IOB1' then file else if of_data != 'IOB1' then of_data else 'BIO';
    local learned = std.get(reader, 'target_encoding', default);
    assert of_data == learned || !std.objectHas(d, 'encoding') || of_data == 'IOB1' :
           "data: the reader's tags are %s, and 'encoding' is %s; set the reader's alone" % [learned, of_data];
    { file: file, learned: learned },
  output_space(d):: { type: 'tag_sequence', encoding: encodings(d).learned },

  rates:: encoders.rates(3e-3, 1e-3),

  // Tagged data, relative to the working directory. To add a set: an entry here. `reader` has the reader's settings for
  // the files. Its `encoding`, 'auto' by default, is null for tags that mark no entities, such as parts of speech.
  data: {
    sample: files('data/tagging_sample/%s.tsv') { reader: { encoding: 'BIO' } },
    // Gimpel et al. 2011.
    twitter_pos: files('data/twitter_pos/oct27.%s') { reader: { tokenizer: 'tweets', encoding: null } },
    // Derczynski et al. 2017.
    wnut17: {
      train: 'data/wnut17/wnut17train.conll',
      dev: 'data/wnut17/emerging.dev.conll',
      test: 'data/wnut17/emerging.test.annotated',
      reader: { encoding: 'BIO', separator: 'tab' },
    },
    // English Web Treebank of Universal Dependencies (Silveira et al. 2014), universal parts of speech. No test file.
    // The treebank's own files, which end in `.conllu`, need no `reader`.
    ud_ewt_pos: {
      train: 'data/ud_ewt_pos/train.tsv',
      dev: 'data/ud_ewt_pos/dev.tsv',
      test: null,
      reader: {
        columns: ['word', 'upos', 'xpos'],
        token_column: 'word',
        tag_column: 'upos',
        separator: 'tab',
        comment: '# ',
        encoding: null,
      },
    },
    // Half of dev to choose by and half to measure on: every second sentence, `valid_every` of the reader.
    ud_ewt_pos_halves: self.ud_ewt_pos {
      dev: 'data/ud_ewt_pos/dev.tsv#train',
      test: 'data/ud_ewt_pos/dev.tsv#valid',
      reader+: { valid_every: 2 },
    },
    // CoNLL-2003 (Tjong Kim Sang & De Meulder 2003), which its owners provide. Entities are in BIOES; besides words,
    // there are the inputs "NER+" of Tu, Pang & Gimpel (2020): see `features` of the encoder.
    conll2003: {
      train: 'data/conll2003/eng.train',
      dev: 'data/conll2003/eng.testa',
      test: 'data/conll2003/eng.testb',
      reader: {
        columns: ['word', 'pos', 'chunk', 'ner'],
        token_column: 'word',
        tag_column: 'ner',
        feature_columns: { pos: 'pos', chunk: 'chunk' },
        case: true,
        encoding: 'IOB1',
        target_encoding: 'BIOES',
      },
    },
  },

  encoder: {
    // Words and a BiLSTM (Tu, Pang & Gimpel 2020).
    //   vectors      a text file of word vectors of `word_dim` numbers; null starts at random
    //   features     sizes of the reader's feature columns by name, and of `case`: "NER+" in the paper
    //   characters   how many filters of each of the two widths a character CNN has: "NER++"; 0 makes none
    bilstm(
      word_dim=100,
      hidden=100,
      layers=1,
      dropout=0.3,
      vectors=null,
      vector_words=100000,
      trainable=true,
      features={},
      characters=24,
      word_dropout=0,
    ):
      local words = encoders.words(word_dim, vectors, vector_words, trainable);
      encoders.bilstm(words, hidden, layers, dropout, characters, word_dropout, features),

    // The paper's BiLSTM for entities. `inputs` are 'NER' (words, whose pretrained vectors stay as they are), 'NER+'
    // (also capitals, parts of speech and chunks) or 'NER++' (also a character CNN); what is null is as they have it.
    // The paper's vectors are `vectors='glove.6B.100d'`, data/vectors/glove.6B.100d.txt.
    ner(
      word_dim=100,
      hidden=128,
      layers=1,
      dropout=0.3,
      vectors=null,
      vector_words=100000,
      trainable=null,
      features=null,
      characters=null,
      inputs='NER+',
    ):
      assert std.member(['NER', 'NER+', 'NER++'], inputs) : "inputs: choose from 'NER', 'NER+' and 'NER++'";
      local words_alone = inputs == 'NER';
      self.bilstm(
        word_dim=word_dim,
        hidden=hidden,
        layers=layers,
        dropout=dropout,
        vectors=vectors,
        vector_words=vector_words,
        trainable=if trainable != null then trainable else vectors == null || !words_alone,
        features=if features != null then features else if words_alone then {} else { pos: 16, chunk: 8, case: 4 },
        characters=if characters != null then characters else if inputs == 'NER++' then 25 else 0,
      ),

    // Any transformer, by its name on the hub or as a local folder.
    transformer(model_name, max_length=512, frozen=false):
      encoders.transformer(model_name, max_length, frozen, encoders.rates(5e-5, head_lr=1e-3)) {
        settings+: { marks_predicate: false },
      },
  },

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

  training+: {
    default+: { epochs: 20 },
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
    // For a pretrained transformer, with its rates; to be added to other settings:
    // `training=tagging.training.wnut17 + tagging.training.transformer`.
    transformer: check.given($.encoder.transformer('').rates, ['task_net_lr', 'loss_net_lr', 'head_lr']) {
      epochs: 6,
      patience: null,
    },
  },

  // On the words of test, this is transductive (Tu, Pang & Gimpel 2020, section 2). With `tagged=false` the file has no
  // tags.
  fine_tuned(config, run, inputs, epochs=3, tagged=true):
    super.fine_tuned(config, run, inputs, epochs)
    + if tagged then {} else {
      dataset_reader+: { tag_column: null },
      validation_dataset_reader: std.get(config, 'validation_dataset_reader', config.dataset_reader),
    },

  config(given)::
    local d = given.data;
    local embedder = std.get(given.encoder.settings, 'embedder');
    local with_words(energy) =
      if std.get(energy, 'gamma', 0) > 0 then { word_embedder: embedder } + energy else energy;
    super.config(given { energies: std.map(with_words, given.energies) }) {
      local reader = std.get(d, 'reader', {}),
      local encoding = encodings(d),
      // What the encoder does not read is not read from files either, so that raw text can do without it.
      local features = std.objectFields(std.get(given.encoder.settings, 'features', {})),
      local columns = std.get(reader, 'feature_columns', {}),
      local used = { [name]: columns[name] for name in std.objectFields(columns) if std.member(features, name) },
      dataset_reader+: {
        // Data may say it in place of the reader's settings.
        [if std.objectHas(d, 'encoding') && !std.objectHas(reader, 'encoding') && !std.objectHas(reader, 'type') then
          'encoding']: d.encoding,
        [if encoding.file == 'IOB1' then 'target_encoding']: encoding.learned,
        [if std.objectHas(reader, 'feature_columns') then 'feature_columns']: used,
        [if std.objectHas(reader, 'case') then 'case']: reader.case && std.member(features, 'case'),
        // A tag of test that breaks the encoding is told before training, and not by the evaluation after it.
        [if encoding.learned != null && std.get(d, 'test') != null then 'also_check']: d.test,
      },
      // Of tags without spans, `f1` is the accuracy.
      trainer+: { validation_metric: if encoding.learned == null then '+accuracy' else '+f1' },
    },
}
