// Tagged data, relative to the working directory. To add a set: an entry here. `reader` has the reader's settings for
// the files; `encoding` is that of the tags that are learnt, null for tags that mark no entities, such as parts of
// speech.
{
  sample: {
    train: 'data/tagging_sample/train.tsv',
    dev: 'data/tagging_sample/dev.tsv',
    test: 'data/tagging_sample/test.tsv',
    reader: { encoding: 'BIO' },
    encoding: 'BIO',
  },
  // Gimpel et al. 2011.
  twitter_pos: {
    train: 'data/twitter_pos/oct27.train',
    dev: 'data/twitter_pos/oct27.dev',
    test: 'data/twitter_pos/oct27.test',
    reader: { tokenizer: 'tweets' },
    encoding: null,
  },
  // Derczynski et al. 2017.
  wnut17: {
    train: 'data/wnut17/wnut17train.conll',
    dev: 'data/wnut17/emerging.dev.conll',
    test: 'data/wnut17/emerging.test.annotated',
    reader: { encoding: 'BIO', separator: 'tab' },
    encoding: 'BIO',
  },
  // English Web Treebank of Universal Dependencies (Silveira et al. 2014), universal parts of speech. No test file.
  // The treebank's own files, which end in `.conllu`, need `reader: { token_column: 1, tag_column: 3 }` alone.
  ud_ewt_pos: {
    train: 'data/ud_ewt_pos/train.tsv',
    dev: 'data/ud_ewt_pos/dev.tsv',
    test: null,
    reader: {
      columns: ['word', 'upos', 'xpos'],
      token_column: 'word',
      tag_column: 'upos',
      separator: 'tab',
      comment: '# ',
    },
    encoding: null,
  },
  // Half of dev to choose by and half to measure on: every second sentence, `valid_every` of the reader.
  ud_ewt_pos_halves: self.ud_ewt_pos {
    dev: 'data/ud_ewt_pos/dev.tsv#train',
    test: 'data/ud_ewt_pos/dev.tsv#valid',
    reader+: { valid_every: 2 },
  },
  // CoNLL-2003 (Tjong Kim Sang & De Meulder 2003), which its owners provide. Entities are in BIOES; besides words,
  // there are the inputs "NER+" of Tu, Pang & Gimpel (2020): see `features` of the encoder.
  conll2003: {
    train: 'data/conll2003/eng.train',
    dev: 'data/conll2003/eng.testa',
    test: 'data/conll2003/eng.testb',
    reader: {
      columns: ['word', 'pos', 'chunk', 'ner'],
      token_column: 'word',
      tag_column: 'ner',
      feature_columns: { pos: 'pos', chunk: 'chunk' },
      case: true,
      encoding: 'IOB1',
      target_encoding: 'BIOES',
    },
    encoding: 'BIOES',
  },
}
