local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('eurlexev', 'static_margin')
