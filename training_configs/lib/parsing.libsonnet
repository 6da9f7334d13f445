// Constituency parsing as a sequence (Tu, Pang & Gimpel 2020, appendix A.1): `experiment` puts data, encoder, method
// and training together.
local check = import 'check.libsonnet';
local files = (import 'components.libsonnet').files;
local encoders = import 'encoders.libsonnet';
local methods = (import 'tagging_methods.libsonnet')(shared=true);
local tagging = import 'tagging.libsonnet';

// A decoder of output steps above an encoder of words. `hidden_dim` and `symbol_dim` are its sizes. Without `next_word`
// it finds its words by attention alone.
local decoder(words, hidden_dim, symbol_dim, dropout, next_word) = words {
  settings: {
    type: 'attention_decoder',
    source: words.settings,
    hidden_dim: hidden_dim,
    symbol_dim: symbol_dim,
    dropout: dropout,
    [if !next_word then 'next_word']: next_word,
  },
};

(import 'sentences.libsonnet') {
  name:: 'parsing',
  output_space(d):: { type: 'linear_tree' },
  known:: { reader: {} },
  rates:: encoders.rates(2e-3),

  // Treebanks in Penn Treebank brackets, relative to the working directory. To add a set: an entry here.
  data: {
    sample: files('data/trees_sample/%s.mrg'),
    // The Wall Street Journal part of the Penn Treebank (Marcus, Santorini & Marcinkiewicz 1993), which the LDC
    // provides: its sections 02 to 21, 22 and 23, each a folder of files in one folder for each part.
    wsj: files('data/wsj/%s'),
    // The 199 files of it, 3,914 sentences, that circulate with teaching toolkits, divided into three folders.
    wsj_sample: files('data/wsj_sample/%s'),
    // The Switchboard treebank (Marcus et al. 1999) in brackets, the LDC's.
    switchboard: files('data/switchboard/%s'),
    // NXT's edition of it (Calhoun et al. 2010), which the papers parse, converted as data/README.md says. Punctuation
    // goes, as in Tran et al. 2018.
    switchboard_nxt: files('data/switchboard_nxt/%s.mrg') { reader: { punctuation: false } },
  },

  encoder: {
    bilstm(
      word_dim=100,
      hidden=100,
      layers=1,
      dropout=0.3,
      vectors=null,
      vector_words=100000,
      trainable=true,
      characters=0,
      word_dropout=0,
      decoder_dim=200,
      symbol_dim=32,
      next_word=true,
    ):
      local words = encoders.words(word_dim, vectors, vector_words, trainable);
      decoder(
        encoders.bilstm(words, hidden, layers, dropout, characters, word_dropout),
        decoder_dim, symbol_dim, dropout, next_word
      ),

    // Any transformer, by its name on the hub or as a local folder.
    transformer(model_name, max_length=512, dropout=0.3, decoder_dim=200, symbol_dim=32, next_word=true):
      decoder(tagging.encoder.transformer(model_name, max_length), decoder_dim, symbol_dim, dropout, next_word),
  },

  // The methods of tagging that train a task-net for output steps. The loss-net, and a shared cost-augmented network,
  // read the task-net's vectors, the feature network `f` of the paper; with `share_encoder=false` the loss-net has a
  // feature network of its own.
  method: check.given(methods {
    nce(num_samples=20, energy_weight=0.1, share_encoder=true, straight_through=false):
      super.nce(num_samples, energy_weight, share_encoder, straight_through),
    // Structure in prediction: a small energy of rules and of words that hang on each other chooses among the trees of
    // the beam of a parser that the method `over` trains. It is learned on the trees of `folds` nets that have not seen
    // the sentence.
    structured(over=self.cross_entropy(), structure={ type: 'trees' }, folds=3, folds_with_loss_net=true):
      super.structured(over, structure, folds, folds_with_loss_net),
  }, [
    'compound_separated',
    'compound_shared',
    'compound_stacked',
    'cross_entropy',
    'implicit_cd',
    'margin',
    'margin_rescaled',
    'nce',
    'perceptron',
    'ranking',
    'structured',
  ]),

  // The energy of a tree: each step with its symbol, each symbol with the one before it, and a language model of
  // symbols (Eq. 7 and Eq. 8). Any other terms: `parsing.energies([{ type: 'local' }, ...])`.
  energies(terms=[{ type: 'local' }, { type: 'linear_chain' }, { type: 'tag_language_model' }]): terms,

  training+: {
    default+: {
      epochs: 30,
      patience: 6,
      // As in the paper, cross-entropy trains the networks before the energy does; null: in half of the epochs.
      warmup_epochs: null,
    },
    sample: self.default { epochs: 20, patience: null },
  },

  experiment(
    data=$.unset.data,
    encoder=$.unset.encoder,
    method=$.unset.method,
    training={},
    energies=$.energies(),
    beam=5,
  ):
    super.experiment(data, encoder, method, training, energies) { model+: { beam: beam } },

  config(given):: super.config(given) {
    local loss_net = std.get(super.model, 'loss_net'),
    // Above the vectors that it shares with the task-net, the loss-net has a layer of its own.
    local on_shared = loss_net != null && !std.objectHas(loss_net, 'encoder'),
    model+: { [if on_shared then 'loss_net']+: { layer_dim: given.encoder.settings.hidden_dim } },
  },
}
