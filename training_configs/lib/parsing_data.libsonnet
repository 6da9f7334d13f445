// Treebanks, relative to the working directory, in Penn Treebank brackets or, `switchboard_nxt`, in NXT's XML. To add a
// set: an entry here.
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
  // NXT's edition of it (Calhoun et al. 2010), which the papers parse, with `syntax` and `terminals` below the folder
  // `xml`. The conversations of each part are those of Charniak & Johnson 2001, and punctuation goes, as in Tran et al.
  // 2018.
  switchboard_nxt: {
    local sides(pattern) = 'data/switchboard_nxt/xml/syntax/sw%s*.syntax.xml' % pattern,
    train: sides('[23]'),
    dev: sides('4[5-9]'),
    test: [sides('40'), sides('41[0-4]'), sides('415[0-3]')],
    reader: { punctuation: false },
  },
}
