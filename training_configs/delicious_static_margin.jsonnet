local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('delicious', 'static_margin')
