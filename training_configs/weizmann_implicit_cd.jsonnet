local segmentation = import 'lib/segmentation.libsonnet';

segmentation.experiment('weizmann', 'implicit_cd')
