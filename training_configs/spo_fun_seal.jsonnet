local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('spo_fun', 'seal')
