// Feature networks for parsing: an encoder of words, as for tagging, and a decoder of output steps above it.
local tagging_encoders = import 'tagging_encoders.libsonnet';

// `hidden_dim` and `symbol_dim` are sizes of the decoder. Without `next_word` it finds its words by attention alone.
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

{
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
  ): decoder(
    tagging_encoders.bilstm(
      word_dim, hidden, layers, dropout, vectors, vector_words, trainable, {}, characters, word_dropout
    ), decoder_dim, symbol_dim, dropout, next_word
  ),

  // Any transformer, by its name on the hub or as a local folder.
  transformer(model_name, max_length=512, dropout=0.3, decoder_dim=200, symbol_dim=32, next_word=true): decoder(
    tagging_encoders.transformer(model_name, max_length), decoder_dim, symbol_dim, dropout, next_word
  ),
}
