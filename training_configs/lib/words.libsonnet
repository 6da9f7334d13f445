// Embeddings of words, for encoders that read words: of random vectors, or of a text file of vectors with `dim` numbers
// each. The file's first `vector_words` words are known, whatever the data; they are lower case, as words are read.
// With `trainable=false` they stay as the file has them.
function(dim, vectors=null, vector_words=100000, trainable=true) {
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
  embedding:: {
    assert trainable || loaded : 'trainable=false: random vectors have to be trained; set vectors',
    type: 'embedding',
    embedding_dim: dim,
    [if loaded then 'pretrained_file']: vectors,
    [if !trainable then 'trainable']: false,
  },
}
