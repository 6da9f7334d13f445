// Tagged data, relative to the working directory. To add a set: an entry here. `reader` is what the reader must know of
// the files; `encoding` is that of the tags that are learnt, null where they write no entities, as parts of speech.
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
    reader: {},
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
}
