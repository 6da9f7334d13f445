local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('sample', 'nce_energy')
