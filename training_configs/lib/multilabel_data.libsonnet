// Multi-label data sets: where they lie, relative to the working directory, how they are read, and the nets of the
// papers (SEAL, ICLR 2022 submission, Table 11; dropout as in its authors' configs). To add a set: one entry here.
local mulan(name, more={}) = {
  train: 'data/%s/train.arff' % name,
  valid: 'data/%s/valid.arff' % name,
  test: 'data/%s/test.arff' % name,
  reader: { label_xml: 'data/%s/%s.xml' % [name, name] } + more,
};
local hierarchical(name, prefix, more={}) = {
  train: 'data/%s/%s.train.arff' % [name, prefix],
  valid: 'data/%s/%s.valid.arff' % [name, prefix],
  test: 'data/%s/%s.test.arff' % [name, prefix],
  // `root`: the papers count it as a label. `standardize`: the features are in different units.
  reader: { root: 'root', standardize: true, statistics_from: 'data/%s/%s.train.arff' % [name, prefix] } + more,
};
// `patterns` are the rows of the global energy's matrix.
local net(hidden_dim, num_layers, dropout, patterns) = {
  hidden_dim: hidden_dim,
  patterns: patterns,
  num_layers: num_layers,
  // Applied after every layer but the last.
  dropout: dropout,
};

{
  // Made up, kept in this repository.
  sample: {
    train: 'data/multilabel_sample/train.arff',
    valid: 'data/multilabel_sample/valid.arff',
    test: 'data/multilabel_sample/test.arff',
    reader: { label_xml: 'data/multilabel_sample/labels.xml' },
    net: net(200, 1, 0.0, 100),
  },
  bibtex: mulan('bibtex') { net: net(400, 2, 0.4, 200) },
  // No paper gives nets for it. It has those of bibtex, which is of the same size.
  bookmarks: mulan('bookmarks') { net: net(400, 2, 0.4, 200) },
  delicious: mulan('delicious') { net: net(400, 2, 0.1, 200) },
  // Its first attribute is the protein's name.
  genbase: mulan('genbase', { drop_attributes: ['protein'] }) { net: net(400, 1, 0.0, 200) },
  cal500: mulan('cal500') { net: net(500, 5, 0.2, 200) },
  eurlexev: mulan('eurlexev') { net: net(500, 2, 0.1, 200) },
  // Two of its attributes have the same name.
  expr_fun: hierarchical('expr_fun', 'expr_FUN', { repeated_names: 'number' }) { net: net(200, 4, 0.2, 400) },
  spo_fun: hierarchical('spo_fun', 'spo_FUN') { net: net(300, 4, 0.1, 300) },
}
