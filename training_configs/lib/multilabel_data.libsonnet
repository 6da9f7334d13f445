// Multi-label data sets: where they lie, relative to the working directory, and how they are read.
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

{
  // Made up, kept in this repository.
  sample: {
    train: 'data/multilabel_sample/train.arff',
    valid: 'data/multilabel_sample/valid.arff',
    test: 'data/multilabel_sample/test.arff',
    reader: { label_xml: 'data/multilabel_sample/labels.xml' },
  },
  bibtex: mulan('bibtex'),
  bookmarks: mulan('bookmarks'),
  delicious: mulan('delicious'),
  // Its first attribute is the protein's name.
  genbase: mulan('genbase', { drop_attributes: ['protein'] }),
  cal500: mulan('cal500'),
  eurlexev: mulan('eurlexev'),
  // Two of its attributes have the same name.
  expr_fun: hierarchical('expr_fun', 'expr_FUN', { repeated_names: 'number' }),
  spo_fun: hierarchical('spo_fun', 'spo_FUN'),
}
