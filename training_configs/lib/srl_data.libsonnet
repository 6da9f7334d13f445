// Where SRL data lies, relative to the working directory. To add a set: one entry here; `tags` are those that other
// files have and train does not.
{
  sample: {
    train: 'data/srl_sample/train.gold_conll',
    dev: 'data/srl_sample/dev.gold_conll',
    test: 'data/srl_sample/test.gold_conll',
  },
  ewt: {
    train: 'data/ewt_propbank_srl/train.gold_conll',
    dev: 'data/ewt_propbank_srl/dev.gold_conll',
    test: null,
    // Only dev has I-ARGM-MOD, and BIO asks for its B- too. If the vocabulary is that of train, the first validation
    // would end the run without this entry.
    tags:: ['B-ARGM-MOD', 'I-ARGM-MOD'],
  },
  // Half of dev to choose by and half to measure on: every second sentence, `valid_every` of the reader.
  ewt_halves: self.ewt {
    dev: 'data/ewt_propbank_srl/dev.gold_conll#train',
    test: 'data/ewt_propbank_srl/dev.gold_conll#valid',
    reader:: { valid_every: 2 },
  },
  // Folders of the CoNLL-2012 split of OntoNotes 5; every file below them whose name ends in gold_conll is read.
  conll2012: {
    train: 'data/conll2012/train',
    dev: 'data/conll2012/development',
    test: 'data/conll2012/test',
  },
}
