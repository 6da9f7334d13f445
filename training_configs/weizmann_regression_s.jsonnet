local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('weizmann', 'regression_s')
