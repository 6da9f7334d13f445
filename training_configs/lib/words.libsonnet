// Embeddings of words, for encoders that read words: of random vectors, or of a text file of vectors with `dim` numbers
// each. The file's first `vector_words` words are known, whatever the data; they are lower case, as words are read.
function(dim, vectors=null, vector_words=100000) {
  local loaded = vectors != null,
  vocabulary: {
    // The words that stand once train the vector of unknown ones.
    min_count: { tokens: 2 },
    [if loaded then 'pretrained_files']: { tokens: vectors },
    [if loaded then 'min_pretrained_embeddings']: { tokens: vector_words },
  },
  // A word that only dev has must stay unknown, unless it has a vector.
  vocabulary_from: ['train'],
  // For the encoder, which adds its own fields to these.
  embedding:: { type: 'embedding', embedding_dim: dim, [if loaded then 'pretrained_file']: vectors },
}
