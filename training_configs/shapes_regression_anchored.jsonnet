local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.shapes,
  method=segmentation.method.regression_anchored(),
  training=segmentation.training.shapes,
)
