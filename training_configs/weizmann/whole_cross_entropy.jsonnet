local segmentation = import '../lib/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.weizmann,
  method=segmentation.method.cross_entropy(),
  training={ crops: false },
)
