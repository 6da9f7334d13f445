// Feature networks for tagging: token indexers and the settings of `Encoder`.
local words_bilstm = import 'bilstm.libsonnet';
local encoders = import 'encoders.libsonnet';
local sentences = import 'sentences.libsonnet';

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
    characters=24,
    word_dropout=0,
  ): words_bilstm(
    word_dim, hidden, layers, dropout, vectors, vector_words, trainable, characters, features, word_dropout=word_dropout
  ),

  // The paper's BiLSTM for entities. `inputs` are 'NER' (words, whose pretrained vectors stay as they are), 'NER+'
  // (also capitals, parts of speech and chunks) or 'NER++' (also a character CNN); what is null is as they have it.
  // The paper's vectors are `vectors='glove.6B.100d'`, data/vectors/glove.6B.100d.txt.
  ner(
    word_dim=100,
    hidden=128,
    layers=1,
    dropout=0.3,
    vectors=null,
    vector_words=100000,
    trainable=null,
    features=null,
    characters=null,
    inputs='NER+',
  ):
    assert std.member(['NER', 'NER+', 'NER++'], inputs) : "inputs: choose from 'NER', 'NER+' and 'NER++'";
    local words_alone = inputs == 'NER';
    self.bilstm(
      word_dim=word_dim,
      hidden=hidden,
      layers=layers,
      dropout=dropout,
      vectors=vectors,
      vector_words=vector_words,
      trainable=if trainable != null then trainable else vectors == null || !words_alone,
      features=if features != null then features else if words_alone then {} else { pos: 16, chunk: 8, case: 4 },
      characters=if characters != null then characters else if inputs == 'NER++' then 25 else 0,
    ),

  // Any transformer, by its name on the hub or as a local folder.
  transformer(model_name, max_length=512, frozen=false):
    encoders.transformer(model_name, max_length, frozen) {
      rates: if frozen then sentences.rates_frozen else sentences.rates(5e-5, head_lr=1e-3),
      settings+: { marks_predicate: false },
    },
}
