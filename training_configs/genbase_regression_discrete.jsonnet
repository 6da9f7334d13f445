local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('genbase', 'regression_discrete')
