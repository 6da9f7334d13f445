local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment('cal500', 'seal')
