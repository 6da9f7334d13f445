local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('sample', 'margin_no_ce')
