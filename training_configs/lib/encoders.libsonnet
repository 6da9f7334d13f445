// Feature networks of sentences and texts. Each has what its reader needs, the settings of `Encoder`, and, if it does
// not start at random, the rates that it needs. A task's own encoders are these with its defaults.
local check = import 'check.libsonnet';

// Word embeddings: random vectors, or those of a text file with `dim` numbers each. The first `vector_words` words of
// the file are in the vocabulary, whether the data has them or not; they are in lower case, in which words are read.
// With `trainable=false`, the vectors stay as they are in the file.
// A name without a folder or an ending, such as 'glove.6B.100d', is that of a file in data/vectors. With
// `vocabulary_size`, only so many of the most frequent words are known.
local words(dim, vectors, vector_words, trainable=true, vocabulary_size=null) = {
  local loaded = vectors != null,
  local ends = ['.txt', '.vec', '.gz', '.zip', '.h5', '.hdf5'],
  local ended = std.length([end for end in ends if loaded && std.endsWith(vectors, end)]) > 0,
  local named = loaded && !ended && std.length(std.findSubstr('/', vectors)) == 0,
  local file = if named then 'data/vectors/%s.txt' % vectors else vectors,
  vocabulary: {
    // Words that occur once train the vector of unknown words.
    min_count: { tokens: 2 },
    [if loaded then 'pretrained_files']: { tokens: file },
    [if vocabulary_size != null then 'max_vocab_size']: { tokens: vocabulary_size },
    [if loaded then 'min_pretrained_embeddings']: { tokens: vector_words },
  },
  // A word that only dev has must stay unknown, unless it has a vector.
  vocabulary_from: ['train'],
  // For the encoder, which adds its own fields to these.
  dim:: dim,
  embedding:: {
    assert trainable || loaded : 'trainable=false: random vectors have to be trained; set vectors',
    type: 'embedding',
    embedding_dim: dim,
    [if loaded then 'pretrained_file']: file,
    [if !trainable then 'trainable']: false,
  },
};

// A CNN over a word's characters, with `filters` filters over windows of 3 and as many over windows of 4. It ignores
// windows that reach into padding, so words get marks at their ends, with which the shortest one fills a window of 4.
local character_net(filters) = {
  local dim = 12,
  local widths = [3, 4],
  output_dim: filters * std.length(widths),
  indexer: {
    type: 'seal_characters',
    min_padding_length: 4,
    character_tokenizer: { start_tokens: ['<w>'], end_tokens: ['</w>', '</w>'] },
  },
  embedder: {
    type: 'seal_character_encoding',
    embedding: { embedding_dim: dim, vocab_namespace: 'token_characters' },
    encoder: { type: 'cnn', embedding_dim: dim, num_filters: filters, ngram_filter_sizes: widths },
  },
};

// Learning rates for encoders that start at random, and a schedule.
local rates(task_net_lr, loss_net_lr=task_net_lr, head_lr=null, scheduler=null) = {
  task_net_lr: task_net_lr,
  loss_net_lr: loss_net_lr,
  head_lr: head_lr,
  scheduler: scheduler,
};
// Of what is above a pretrained encoder that does not change.
local rates_frozen = rates(2e-3);

// Any BERT- or RoBERTa-style model, by its name on the hub or as a local folder. `frozen`: whether its weights are
// fixed. There is no vocabulary of wordpieces, only one of labels: with dev, a label that only dev has is scored and
// not an error.
local pretrained(model_name, frozen, rates, settings) = {
  rates: if frozen then rates_frozen else rates,
  vocabulary: {},
  vocabulary_from: ['train', 'validation'],
  settings: settings { model_name: model_name, [if frozen then 'train_parameters']: false },
};

{
  rates: rates,
  rates_frozen: rates_frozen,

  words: words,

  // A BiLSTM over `words`: their embeddings and, if asked for, a CNN over characters with `characters` filters of each
  // width, feature columns with their sizes by name, and a mark of the predicate, `predicate_dim` wide. `word_dropout`
  // is the share of words that are unknown in training.
  bilstm(words, hidden, layers, dropout, characters, word_dropout, features={}, predicate_dim=null):
    assert check.from('encoder', { characters: characters }, 'characters', 0);
    words {
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
            tokens: words.embedding,
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
          input_size: std.foldl(function(sum, size) sum + size, sizes, words.dim + of_characters.output_dim),
          hidden_size: hidden,
          num_layers: layers,
        },
      },
    },

  // A transformer over words. `max_length` is the number of wordpieces that are read at once; it may not be larger than
  // what the model takes.
  transformer(model_name, max_length, frozen, rates):
    pretrained(model_name, frozen, rates, { type: 'transformer', max_length: max_length }) {
      indexers: {
        tokens: {
          type: 'pretrained_transformer_mismatched',
          model_name: model_name,
          max_length: max_length,
          // AllenNLP's default is 'tags', which already holds the tags of a tagger. The name has to end in 'tags': that
          // marks a vocabulary without an unknown word, as this one is.
          namespace: 'wordpiece_tags',
        },
      },
    },

  // One vector a text: `encoder` makes it of the embeddings of `words`.
  text_of_words(words, dropout, max_length, encoder, indexer={}):
    words {
      reader: {
        tokenizer: { type: 'letters_digits' },
        token_indexers: { tokens: { type: 'single_id', lowercase_tokens: true } + indexer },
        max_tokens: max_length,
      },
      settings: {
        type: 'seq2vec',
        dropout: dropout,
        embedder: { token_embedders: { tokens: words.embedding } },
        encoder: encoder,
      },
    },

  // The same of a transformer. `max_length` is the number of wordpieces after which a text is cut; it may not be larger
  // than what the model takes.
  text_transformer(model_name, max_length, frozen, rates, settings):
    pretrained(model_name, frozen, rates, { type: 'text_transformer' } + settings) {
      reader: {
        tokenizer: { type: 'pretrained_transformer', model_name: model_name, add_special_tokens: false },
        token_indexers: { tokens: { type: 'pretrained_transformer', model_name: model_name } },
        max_tokens: max_length,
      },
    },
}
