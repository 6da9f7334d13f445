local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('shapes', 'cross_entropy')
