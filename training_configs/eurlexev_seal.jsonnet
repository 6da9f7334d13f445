local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('eurlexev', 'seal')
