// Texts with labels, relative to the working directory. To add a set: an entry here. `reader` has the reader's settings
// for the files. `#train` and `#valid` are two parts of one file, always the same ones. data/README.md says how the
// files of AAPD, RCV1 and BGC are converted.
{
  // Made up, kept in this repository.
  sample: {
    train: 'data/text_sample/train.jsonl',
    dev: 'data/text_sample/valid.jsonl',
    test: 'data/text_sample/test.jsonl',
    reader: { taxonomy: 'data/text_sample/taxonomy.tsv', ancestors: true },
  },
  // Reuters-21578, ModApte split, the topics with a text in train and in test.
  reuters: {
    train: 'data/reuters21578/train.jsonl#train',
    dev: 'data/reuters21578/train.jsonl#valid',
    test: 'data/reuters21578/test.jsonl',
    reader: { labels: 'data/reuters21578/labels.txt', text_keys: ['title', 'text'] },
  },
  // Demszky et al. 2020.
  goemotions: {
    train: 'data/goemotions/train.tsv',
    dev: 'data/goemotions/dev.tsv',
    test: 'data/goemotions/test.tsv',
    reader: { labels: 'data/goemotions/labels.txt' },
  },
  // Yang et al. 2018, who leave out texts of over 500 words. Their 50,000 words are an encoder's `vocabulary_size`, as
  // in `aapd/*.jsonnet`.
  aapd: {
    train: 'data/aapd/train.jsonl',
    dev: 'data/aapd/val.jsonl',
    test: 'data/aapd/test.jsonl',
    reader: { max_words: 500 },
  },
  // Lewis et al. 2004: the official training documents, two in five of which are for validation (SEAL, ICLR 2022
  // submission, Table 1), and the four test files. Of no more than 500 words, as in Yang et al. 2018.
  rcv1: {
    train: 'data/rcv1/train.jsonl#train',
    dev: 'data/rcv1/train.jsonl#valid',
    test: 'data/rcv1/test.jsonl',
    reader: { taxonomy: 'data/rcv1/taxonomy.tsv', max_words: 500, valid_every: 2.5 },
  },
  // Aly, Remus & Biemann 2019.
  bgc: {
    train: 'data/bgc/train.jsonl',
    dev: 'data/bgc/dev.jsonl',
    test: 'data/bgc/test.jsonl',
    reader: { taxonomy: 'data/bgc/hierarchy.txt' },
  },
  // JSON lines as is usual for hierarchical classification (`token`, `label`).
  nyt: {
    train: 'data/nyt/nyt_train.json',
    dev: 'data/nyt/nyt_val.json',
    test: 'data/nyt/nyt_test.json',
    reader: { taxonomy: 'data/nyt/nyt.taxonomy' },
  },
}
