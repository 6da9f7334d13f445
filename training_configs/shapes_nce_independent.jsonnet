local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('shapes', 'nce_independent')
