local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.shapes,
  method=segmentation.method.regression_s(),
  training=segmentation.training.shapes,
)
