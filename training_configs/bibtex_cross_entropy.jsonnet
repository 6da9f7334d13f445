local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('bibtex', 'cross_entropy')
