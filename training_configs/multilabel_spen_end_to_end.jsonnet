local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('sample', 'spen_end_to_end')
