local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.shapes,
  method=segmentation.method.spen_end_to_end(),
  training=segmentation.training.shapes,
)
