// Multi-label classification of texts: `experiment` puts data, encoder, method and training together.
local files = (import 'components.libsonnet').files;
local encoders = import 'encoders.libsonnet';
local methods = (import 'methods.libsonnet')();

local of_tags = ['crf', 'legal', 'structured_tuning'];
local of_texts = methods {
  // A small energy chooses among the label sets of the training data.
  structured(over=self.cross_entropy(), structure={ type: 'label_sets' }, folds=3, folds_with_loss_net=true):
    super.structured(over, structure, folds, folds_with_loss_net),
};

(import 'sentences.libsonnet') {
  name:: 'text',
  type:: 'seal_text_multilabel',
  output_space(d):: { type: 'label_set' },
  known:: { reader: {}, unlabelled: '', plain_text: false },
  rates:: encoders.rates(3e-3),

  // Texts with labels, relative to the working directory. To add a set: an entry here. `reader` has the reader's
  // settings for the files. `#train` and `#valid` are two parts of one file, always the same ones. data/README.md says
  // how the files of AAPD, RCV1 and BGC are converted.
  data: {
    // Made up, kept in this repository.
    sample: {
      train: 'data/text_sample/train.jsonl',
      dev: 'data/text_sample/valid.jsonl',
      test: 'data/text_sample/test.jsonl',
      reader: { taxonomy: 'data/text_sample/taxonomy.tsv', ancestors: true },
    },
    // Reuters-21578, ModApte split, the topics with a text in train and in test.
    reuters: {
      train: 'data/reuters21578/train.jsonl#train',
      dev: 'data/reuters21578/train.jsonl#valid',
      test: 'data/reuters21578/test.jsonl',
      reader: { labels: 'data/reuters21578/labels.txt', text_keys: ['title', 'text'] },
    },
    // Demszky et al. 2020.
    goemotions: files('data/goemotions/%s.tsv') { reader: { labels: 'data/goemotions/labels.txt' } },
    // Yang et al. 2018, who leave out texts of over 500 words. Their 50,000 words are an encoder's `vocabulary_size`,
    // as in `aapd/*.jsonnet`.
    aapd: {
      train: 'data/aapd/train.jsonl',
      dev: 'data/aapd/val.jsonl',
      test: 'data/aapd/test.jsonl',
      reader: { max_words: 500 },
    },
    // Lewis et al. 2004: the official training documents, two in five of which are for validation (SEAL, ICLR 2022
    // submission, Table 1), and the four test files. Of no more than 500 words, as in Yang et al. 2018.
    rcv1: {
      train: 'data/rcv1/train.jsonl#train',
      dev: 'data/rcv1/train.jsonl#valid',
      test: 'data/rcv1/test.jsonl',
      reader: { taxonomy: 'data/rcv1/taxonomy.tsv', max_words: 500, valid_every: 2.5 },
    },
    // Aly, Remus & Biemann 2019.
    bgc: files('data/bgc/%s.jsonl') { reader: { taxonomy: 'data/bgc/hierarchy.txt' } },
    // JSON lines as is usual for hierarchical classification (`token`, `label`).
    nyt: {
      train: 'data/nyt/nyt_train.json',
      dev: 'data/nyt/nyt_val.json',
      test: 'data/nyt/nyt_test.json',
      reader: { taxonomy: 'data/nyt/nyt.taxonomy' },
    },
  },

  encoder: {
    // Word embeddings and the last states of a BiLSTM; nothing is downloaded.
    bilstm(
      word_dim=64,
      hidden=64,
      layers=1,
      dropout=0.3,
      max_length=200,
      vectors=null,
      vector_words=100000,
      vocabulary_size=null,
    ):
      encoders.text_of_words(
        encoders.words(word_dim, vectors, vector_words, vocabulary_size=vocabulary_size),
        dropout,
        max_length,
        { type: 'lstm', bidirectional: true, input_size: word_dim, hidden_size: hidden, num_layers: layers },
      ),

    // The same word embeddings, and the maximum of each filter over windows of one to three words (Kim 2014): cheap,
    // and better on little data.
    cnn(
      word_dim=64, filters=48, dropout=0.3, max_length=200, vectors=null, vector_words=100000, vocabulary_size=null
    ):
      encoders.text_of_words(
        encoders.words(word_dim, vectors, vector_words, vocabulary_size=vocabulary_size),
        dropout,
        max_length,
        { type: 'cnn', embedding_dim: word_dim, num_filters: filters, ngram_filter_sizes: [1, 2, 3] },
        // A filter needs as many words as it is long, so short texts are padded.
        { token_min_padding_length: 3 },
      ),

    // `adapters`: null for full fine-tuning, or {} or { dim: 64, placement: 'houlsby' }. The rates are those of BERT as
    // a whole: the largest of those that its authors name; that of adapters is twice as high.
    transformer(model_name, max_length=128, pooling='mean', adapters=null, frozen=false):
      encoders.text_transformer(
        model_name,
        max_length,
        frozen,
        encoders.rates(
          if adapters == null then 5e-5 else 1e-4,
          head_lr=1e-3,
          scheduler={ type: 'linear_with_warmup', warmup_steps: 100 },
        ),
        { pooling: pooling, [if adapters != null then 'adapters']: adapters },
      ),
  },

  method: { [name]: of_texts[name] for name in std.objectFields(of_texts) if !std.member(of_tags, name) },

  // The energy of a set of labels: each label with the text, and all labels together. `patterns` is the number of rows
  // of the latter term's matrix.
  energies(patterns=200): [{ type: 'local' }, { type: 'label_interaction', hidden_dim: patterns }],

  training+: {
    default+: {
      epochs: 5,
      // Micro F1, which the papers report for texts; 'f1' is the mean over texts. A structure predicts for it, too.
      metric: 'micro_f1',
    },
    sample: self.default { epochs: 20 },
    reuters: self.default { epochs: 8 },
    goemotions: self.default { epochs: 4 },
    aapd: self.default { epochs: 8, patience: 3 },
    rcv1: self.default { epochs: 8, patience: 3 },
    bgc: self.default { epochs: 8, patience: 3 },
    nyt: self.default { epochs: 4 },
  },

  // One score chooses the epoch, tunes the threshold and, where there is a structure, decides what is predicted.
  config(given)::
    local base = super.config(given);
    local metric = base.training.metric;
    local score = if std.startsWith(metric, 'f1') then 'f1' else 'micro_f1';
    local exact = std.startsWith(metric, 'subset_accuracy');
    base {
      model+: {
        [if std.objectHas(base.model, 'structure') then 'score']: if exact then 'subset_accuracy' else score,
      },
      trainer+: {
        validation_metric: '+' + metric,
        callbacks: [{ type: 'tune_thresholds', metric: score }],
      },
    },
}
