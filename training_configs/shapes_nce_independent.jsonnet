local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.shapes,
  method=segmentation.method.nce_independent(),
  training=segmentation.training.shapes,
)
