local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('bibtex', 'regression_discrete')
