local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('sample', 'implicit_cd_margin')
