local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('shapes', 'implicit_cd')
