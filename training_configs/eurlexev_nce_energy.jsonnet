local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('eurlexev', 'nce_energy')
