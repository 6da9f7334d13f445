// Feature networks for tagging: token indexers and the settings of `Encoder`.
local words_bilstm = import 'bilstm.libsonnet';
local encoders = import 'encoders.libsonnet';

{
  // Words and a BiLSTM (Tu, Pang & Gimpel 2020).
  //   vectors      a text file of word vectors of `word_dim` numbers; null starts at random (`words.libsonnet`)
  //   trainable    whether the word vectors change in training
  //   features     sizes of the reader's feature columns by name, and of `case`: "NER+" in the paper
  //   characters   how many filters of each of the two widths a character CNN has: "NER++"; 0 makes none
  bilstm(
    word_dim=100,
    hidden=100,
    layers=1,
    dropout=0.3,
    vectors=null,
    vector_words=100000,
    trainable=true,
    features={},
    characters=0,
    word_dropout=0,
  ): words_bilstm(
    word_dim, hidden, layers, dropout, vectors, vector_words, trainable, characters, features, word_dropout=word_dropout
  ),

  // The paper's BiLSTM for entities with its inputs "NER+", whose embeddings are trained. The inputs "NER" are
  // `ner(vectors='glove.6B.100d.txt', trainable=false, features={})`; for "NER++", set `characters=25` or another
  // number.
  ner(
    word_dim=100,
    hidden=128,
    layers=1,
    dropout=0.3,
    vectors=null,
    vector_words=100000,
    trainable=true,
    features={ pos: 16, chunk: 8, case: 4 },
    characters=0,
  ): self.bilstm(
    word_dim=word_dim,
    hidden=hidden,
    layers=layers,
    dropout=dropout,
    vectors=vectors,
    vector_words=vector_words,
    trainable=trainable,
    features=features,
    characters=characters,
  ),

  // Any transformer, by its name on the hub or as a local folder.
  transformer(model_name, max_length=512, frozen=false):
    encoders.transformer(model_name, max_length, frozen) { settings+: { marks_predicate: false } },
}
