// A BiLSTM over words: word embeddings (`words.libsonnet`) and, if asked for, a CNN over characters with `characters`
// filters of each width, feature columns with their sizes by name, and a mark of the predicate, `predicate_dim` wide.
// `word_dropout` is the share of words that are unknown in training.
local character_net = import 'characters.libsonnet';
local check = import 'check.libsonnet';
local words = import 'words.libsonnet';

function(
  word_dim,
  hidden,
  layers,
  dropout,
  vectors,
  vector_words,
  trainable=true,
  characters=0,
  features={},
  predicate_dim=null,
  word_dropout=0,
)
  assert check.from('encoder', { characters: characters }, 'characters', 0);
  words(word_dim, vectors, vector_words, trainable) {
    local embedding = super.embedding,
    local with_characters = characters > 0,
    local of_characters = character_net(characters),
    local names = std.objectFields(features),
    local sizes = [features[name] for name in names] + if predicate_dim == null then [] else [predicate_dim],
    indexers: {
      tokens: { type: 'single_id', lowercase_tokens: true },
      [if with_characters then 'characters']: of_characters.indexer,
    },
    settings: {
      type: 'seq2seq',
      dropout: dropout,
      [if word_dropout > 0 then 'word_dropout']: word_dropout,
      [if predicate_dim != null then 'predicate_dim']: predicate_dim,
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
        input_size: std.foldl(function(sum, size) sum + size, sizes, word_dim + of_characters.output_dim),
        hidden_size: hidden,
        num_layers: layers,
      },
    },
  }
