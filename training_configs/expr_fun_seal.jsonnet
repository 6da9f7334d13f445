local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('expr_fun', 'seal')
