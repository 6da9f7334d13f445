local segmentation = import '../lib/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.weizmann,
  encoder=segmentation.encoder.coupling(),
  method=segmentation.method.cross_entropy(),
  training={ crops: false },
)
