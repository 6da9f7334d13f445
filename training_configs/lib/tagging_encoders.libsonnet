// Feature networks for tagging: token indexers and the settings of `Encoder`.
local encoders = import 'encoders.libsonnet';

{
  // Words of random vectors and a BiLSTM (Tu, Pang & Gimpel 2020). `features`: sizes of the reader's feature columns,
  // by name.
  bilstm(word_dim=100, hidden=100, layers=1, dropout=0.3, features={}): {
    local names = std.objectFields(features),
    indexers: { tokens: { type: 'single_id', lowercase_tokens: true } },
    // The words that stand once train the vector of unknown ones.
    vocabulary: { min_count: { tokens: 2 } },
    // A word that only dev has must stay unknown.
    vocabulary_from: ['train'],
    settings: {
      type: 'seq2seq',
      dropout: dropout,
      embedder: { token_embedders: { tokens: { type: 'embedding', embedding_dim: word_dim } } },
      [if std.length(names) > 0 then 'features']: {
        [name]: { type: 'embedding', embedding_dim: features[name], vocab_namespace: name + '_features' }
        for name in names
      },
      encoder: {
        type: 'lstm',
        bidirectional: true,
        input_size: std.foldl(function(sum, name) sum + features[name], names, word_dim),
        hidden_size: hidden,
        num_layers: layers,
      },
    },
  },

  // The same with character n-grams beside the words.
  bilstm_characters(word_dim=100, hidden=100, layers=1, dropout=0.3):
    encoders.bilstm(word_dim, hidden, layers, predicate_dim=0, dropout=dropout),

  // Any transformer, by its name on the hub or as a local folder.
  transformer(model_name, max_length=512):
    encoders.transformer(model_name, max_length) { settings+: { marks_predicate: false } },
}
