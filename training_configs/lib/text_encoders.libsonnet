// Feature networks for texts, one vector a text. Each has the tokenizer and token indexers that the reader needs, and
// the settings of `Encoder`.
local sentences = import 'sentences.libsonnet';
local words = import 'words.libsonnet';
local of_words(table, dropout, max_length, encoder, indexer={}) = table {
  reader: {
    tokenizer: { type: 'letters_digits' },
    token_indexers: { tokens: { type: 'single_id', lowercase_tokens: true } + indexer },
    max_tokens: max_length,
  },
  settings: {
    type: 'seq2vec',
    dropout: dropout,
    embedder: { token_embedders: { tokens: table.embedding } },
    encoder: encoder,
  },
};

{
  // Word embeddings (`words.libsonnet`) and the last states of a BiLSTM; nothing is downloaded.
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
    of_words(
      words(word_dim, vectors, vector_words, vocabulary_size=vocabulary_size),
      dropout,
      max_length,
      { type: 'lstm', bidirectional: true, input_size: word_dim, hidden_size: hidden, num_layers: layers },
    ),

  // The same word embeddings, and the maximum of each filter over windows of one to three words (Kim 2014): cheap, and
  // better on little data.
  cnn(word_dim=64, filters=48, dropout=0.3, max_length=200, vectors=null, vector_words=100000, vocabulary_size=null):
    of_words(
      words(word_dim, vectors, vector_words, vocabulary_size=vocabulary_size),
      dropout,
      max_length,
      { type: 'cnn', embedding_dim: word_dim, num_filters: filters, ngram_filter_sizes: [1, 2, 3] },
      // A filter needs as many words as it is long, so short texts are padded.
      { token_min_padding_length: 3 },
    ),

  // Any BERT- or RoBERTa-style model, by its name on the hub or as a local folder. `max_length` is the number of
  // wordpieces after which a text is cut; it may not be larger than what the model takes. `adapters`: null for full
  // fine-tuning, or {} or { dim: 64, placement: 'houlsby' }. `frozen`: whether its weights are fixed.
  transformer(model_name, max_length=128, pooling='mean', adapters=null, frozen=false): {
    // The rates of BERT as a whole: the largest of those that its authors name; that of adapters is twice as high.
    rates:
      if frozen then sentences.rates_frozen
      else
        sentences.rates(
          if adapters == null then 5e-5 else 1e-4,
          head_lr=1e-3,
          scheduler={ type: 'linear_with_warmup', warmup_steps: 100 },
        ),
    reader: {
      tokenizer: { type: 'pretrained_transformer', model_name: model_name, add_special_tokens: false },
      token_indexers: { tokens: { type: 'pretrained_transformer', model_name: model_name } },
      max_tokens: max_length,
    },
    vocabulary: {},
    // There is no vocabulary of wordpieces, only one of labels: with dev, a label that only dev has is scored and not
    // an error.
    vocabulary_from: ['train', 'validation'],
    settings: {
      type: 'text_transformer',
      model_name: model_name,
      pooling: pooling,
      [if adapters != null then 'adapters']: adapters,
      [if frozen then 'train_parameters']: false,
    },
  },
}
