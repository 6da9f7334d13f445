// What is read from a word's characters: convolutions over windows of 3 and of 4, `filters` of each. A window that
// reaches into padding counts for nothing, so a word has marks at its ends: with them the shortest fills a window of 4.
function(filters) {
  local dim = 12,
  local widths = [3, 4],
  output_dim: filters * std.length(widths),
  indexer: {
    type: 'characters',
    min_padding_length: 4,
    character_tokenizer: { start_tokens: ['<w>'], end_tokens: ['</w>', '</w>'] },
  },
  embedder: {
    type: 'character_encoding',
    embedding: { embedding_dim: dim, vocab_namespace: 'token_characters' },
    encoder: { type: 'cnn', embedding_dim: dim, num_filters: filters, ngram_filter_sizes: widths },
  },
}
