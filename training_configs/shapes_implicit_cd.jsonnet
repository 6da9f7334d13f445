local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.shapes,
  method=segmentation.method.implicit_cd(),
  training=segmentation.training.shapes,
)
