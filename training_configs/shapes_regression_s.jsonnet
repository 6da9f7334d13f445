local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('shapes', 'regression_s')
