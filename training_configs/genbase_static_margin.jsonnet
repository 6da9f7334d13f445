local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('genbase', 'static_margin')
