local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('weizmann', 'nce_independent')
