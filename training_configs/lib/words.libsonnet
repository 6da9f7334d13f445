// Word embeddings for encoders that read words: random vectors, or those of a text file with `dim` numbers each. The
// first `vector_words` words of the file are in the vocabulary, whether the data has them or not; they are in lower
// case, in which words are read. With `trainable=false`, the vectors stay as they are in the file.
function(dim, vectors=null, vector_words=100000, trainable=true) {
  local loaded = vectors != null,
  vocabulary: {
    // Words that occur once train the vector of unknown words.
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
