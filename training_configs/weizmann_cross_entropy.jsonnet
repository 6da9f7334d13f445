local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('weizmann', 'cross_entropy')
