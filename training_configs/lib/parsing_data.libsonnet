// Treebanks in Penn Treebank brackets, relative to the working directory. To add a set: an entry here.
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
  // The 199 files of it, 3,914 sentences, that circulate with teaching toolkits, divided into three folders.
  wsj_sample: {
    train: 'data/wsj_sample/train',
    dev: 'data/wsj_sample/dev',
    test: 'data/wsj_sample/test',
  },
  // The Switchboard treebank (Marcus et al. 1999) in brackets, the LDC's.
  switchboard: {
    train: 'data/switchboard/train',
    dev: 'data/switchboard/dev',
    test: 'data/switchboard/test',
  },
  // NXT's edition of it (Calhoun et al. 2010), which the papers parse, converted as data/README.md says. Punctuation
  // goes, as in Tran et al. 2018.
  switchboard_nxt: {
    train: 'data/switchboard_nxt/train.mrg',
    dev: 'data/switchboard_nxt/dev.mrg',
    test: 'data/switchboard_nxt/test.mrg',
    reader: { punctuation: false },
  },
}
