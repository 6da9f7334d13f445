local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.wnut17,
  encoder=tagging.encoder.bilstm(),
  method=tagging.method.implicit_ssvm(),
  training=tagging.training.wnut17,
)
