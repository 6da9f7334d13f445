// Word embeddings for encoders that read words: random vectors, or those of a text file with `dim` numbers each. The
// first `vector_words` words of the file are in the vocabulary, whether the data has them or not; they are in lower
// case, in which words are read. With `trainable=false`, the vectors stay as they are in the file.
// A name without a folder or an ending, such as 'glove.6B.100d', is that of a file in data/vectors. With
// `vocabulary_size`, only so many of the most frequent words are known.
function(dim, vectors=null, vector_words=100000, trainable=true, vocabulary_size=null) {
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
  embedding:: {
    assert trainable || loaded : 'trainable=false: random vectors have to be trained; set vectors',
    type: 'embedding',
    embedding_dim: dim,
    [if loaded then 'pretrained_file']: file,
    [if !trainable then 'trainable']: false,
  },
}
