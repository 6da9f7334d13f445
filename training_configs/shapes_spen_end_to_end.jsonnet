local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('shapes', 'spen_end_to_end')
