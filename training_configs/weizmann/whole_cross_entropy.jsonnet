local segmentation = import 'seal/segmentation.libsonnet';

segmentation.experiment(
  data=segmentation.data.weizmann,
  encoder=segmentation.encoder.coupling(),
  method=segmentation.method.cross_entropy(),
  training={ crops: false },
)
