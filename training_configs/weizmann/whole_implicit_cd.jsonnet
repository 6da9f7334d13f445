local segmentation = import '../lib/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.weizmann,
  method=segmentation.method.implicit_cd(),
  training={ crops: false },
)
