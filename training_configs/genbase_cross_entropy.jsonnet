local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('genbase', 'cross_entropy')
