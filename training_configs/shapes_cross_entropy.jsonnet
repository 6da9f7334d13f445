local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.shapes,
  method=segmentation.method.cross_entropy(),
  training=segmentation.training.shapes,
)
