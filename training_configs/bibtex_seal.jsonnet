local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('bibtex', 'seal')
