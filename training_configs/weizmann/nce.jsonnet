local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.weizmann,
  method=segmentation.method.nce(),
)
