// Semantic role labelling: `experiment` puts data, encoder, method and training together.
local components = import 'components.libsonnet';
local encoders = import 'encoders.libsonnet';
local methods = (import 'methods.libsonnet')();

(import 'sentences.libsonnet') {
  name:: 'srl',
  output_space(d):: { type: 'tag_sequence', namespace: 'srl_tags' },
  known:: { tags: [], reader: {}, unlabelled: '', plain_text: false },
  rates:: encoders.rates(3e-3, 1e-3, scheduler=$.training.small_data.scheduler),

  // Where the data lies, relative to the working directory. To add a set: one entry here; `tags` are those that other
  // files have and train does not.
  data: {
    sample: components.files('data/srl_sample/%s.gold_conll'),
    ewt: {
      train: 'data/ewt_propbank_srl/train.gold_conll',
      dev: 'data/ewt_propbank_srl/dev.gold_conll',
      test: null,
      // Only dev has I-ARGM-MOD, and BIO asks for its B- too. If the vocabulary is that of train, the first validation
      // would end the run without this entry.
      tags:: ['B-ARGM-MOD', 'I-ARGM-MOD'],
    },
    // Half of dev to choose by and half to measure on: every second sentence, `valid_every` of the reader.
    ewt_halves: self.ewt {
      dev: 'data/ewt_propbank_srl/dev.gold_conll#train',
      test: 'data/ewt_propbank_srl/dev.gold_conll#valid',
      reader:: { valid_every: 2 },
    },
    // Folders of the CoNLL-2012 split of OntoNotes 5; every file below them whose name ends in gold_conll is read.
    conll2012: {
      train: 'data/conll2012/train',
      dev: 'data/conll2012/development',
      test: 'data/conll2012/test',
    },
  },

  encoder: {
    // Word embeddings, character n-grams and a BiLSTM; nothing is downloaded.
    bilstm(
      word_dim=64,
      hidden=96,
      layers=2,
      predicate_dim=16,
      dropout=0.3,
      vectors=null,
      vector_words=100000,
      trainable=true,
      characters=24,
      word_dropout=0.25,
    ):
      encoders.bilstm(
        encoders.words(word_dim, vectors, vector_words, trainable),
        hidden,
        layers,
        dropout,
        characters,
        word_dropout,
        predicate_dim=predicate_dim,
      ),
    transformer(model_name, max_length=512, frozen=false):
      encoders.transformer(model_name, max_length, frozen, encoders.rates(
        1e-4, head_lr=1e-3, scheduler={ type: 'linear_with_warmup', warmup_steps: 200 }
      )),
  },

  method: methods {
    // The net of the method `over` also pays `weight` nats for each two arguments of a sentence's predicates that it
    // expects to overlap in part, as no two phrases of a tree do (the second rule of Li et al. 2020).
    uncrossed(weight=3.0, over=self.cross_entropy()):
      components.with(over, { crossing_weight: weight }),
  },

  // The energy of a frame: each word with its tag, and all tags together. With `pooling` 'sum', a second A0 costs as
  // much in a long sentence as in a short one; with 'mean', the energy's default, it costs less in a longer sentence.
  energies(hidden_dim=256, num_heads=1, pooling='sum', dropout=0.0): [
    { type: 'local' },
    { type: 'self_attention', hidden_dim: hidden_dim, num_heads: num_heads, pooling: pooling, dropout: dropout },
  ],

  training+: {
    default+: {
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

  config(given):: super.config(given) {
    local d = given.data,
    local reader = super.dataset_reader,
    local all = super.training,
    local model = super.model,
    // What is wrong in test is told before training, and not by the evaluation after it.
    dataset_reader: reader { fraction: all.fraction, [if std.get(d, 'test') != null then 'also_check']: d.test },
    data_loader+: {
      batch_sampler: {
        type: 'frames',
        batch_size: all.batch_size,
        sentence_share: all.sentence_share,
        [if std.get(model, 'crossing_weight', 0) > 0 then 'by_sentence']: true,
      },
    },
    validation_dataset_reader: reader,
    [if std.objectHasAll(given.data, 'tags') then 'vocabulary']+: { tokens_to_add: { srl_tags: d.tags } },
  },
}
