// Feature networks for tagging: token indexers and the settings of `Encoder`.
local character_net = import 'characters.libsonnet';
local encoders = import 'encoders.libsonnet';
local words = import 'words.libsonnet';

{
  // Words and a BiLSTM (Tu, Pang & Gimpel 2020).
  //   vectors      a text file of word vectors of `word_dim` numbers; null starts at random (`words.libsonnet`)
  //   trainable    whether the word vectors change in training
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
    characters=0,
  ): words(word_dim, vectors, vector_words, trainable) {
    local embedding = super.embedding,
    local names = std.objectFields(features),
    local with_characters = characters > 0,
    local of_characters = character_net(characters),
    indexers: {
      tokens: { type: 'single_id', lowercase_tokens: true },
      [if with_characters then 'characters']: of_characters.indexer,
    },
    settings: {
      type: 'seq2seq',
      dropout: dropout,
      embedder: {
        token_embedders: {
          tokens: embedding,
          [if with_characters then 'characters']: of_characters.embedder,
        },
      },
      [if std.length(names) > 0 then 'features']: {
        [name]: { type: 'embedding', embedding_dim: features[name], vocab_namespace: name + '_features' }
        for name in names
      },
      encoder: {
        type: 'lstm',
        bidirectional: true,
        input_size: word_dim + of_characters.output_dim + std.foldl(
          function(sum, name) sum + features[name], names, 0
        ),
        hidden_size: hidden,
        num_layers: layers,
      },
    },
  },

  // The paper's BiLSTM for entities with its inputs "NER+", whose embeddings are trained. The inputs "NER" are
  // `ner(vectors='glove.6B.100d.txt', trainable=false, features={})`; for "NER++", set `characters=25` or another
  // number.
  ner(
    word_dim=100,
    hidden=128,
    layers=1,
    dropout=0.3,
    vectors=null,
    vector_words=100000,
    trainable=true,
    features={ pos: 16, chunk: 8, case: 4 },
    characters=0,
  ): self.bilstm(
    word_dim=word_dim,
    hidden=hidden,
    layers=layers,
    dropout=dropout,
    vectors=vectors,
    vector_words=vector_words,
    trainable=trainable,
    features=features,
    characters=characters,
  ),

  // Any transformer, by its name on the hub or as a local folder.
  transformer(model_name, max_length=512):
    encoders.transformer(model_name, max_length) { settings+: { marks_predicate: false } },
}
