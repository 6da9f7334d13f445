local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('sample', 'task_net_ranking')
