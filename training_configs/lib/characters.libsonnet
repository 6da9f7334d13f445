// A CNN over a word's characters, with `filters` filters over windows of 3 and as many over windows of 4. It ignores
// windows that reach into padding, so words get marks at their ends, with which the shortest one fills a window of 4.
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
