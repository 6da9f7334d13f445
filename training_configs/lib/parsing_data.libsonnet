// Treebanks, relative to the working directory, in Penn Treebank brackets. To add a set: an entry here.
{
  sample: {
    train: 'data/trees_sample/train.mrg',
    dev: 'data/trees_sample/dev.mrg',
    test: 'data/trees_sample/test.mrg',
  },
  // The Wall Street Journal part of the Penn Treebank (Marcus, Santorini & Marcinkiewicz 1993), which the LDC provides:
  // its sections 02 to 21, 22 and 23, each a folder of files in one folder for each part.
  wsj: {
    train: 'data/wsj/train',
    dev: 'data/wsj/dev',
    test: 'data/wsj/test',
  },
}
