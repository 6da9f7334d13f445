local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('sample', 'seal')
