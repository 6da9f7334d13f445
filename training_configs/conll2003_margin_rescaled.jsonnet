local tagging = import 'lib/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.conll2003,
  encoder=tagging.encoder.bilstm(features={ pos: 16, chunk: 8, case: 4 }),
  method=tagging.method.margin_rescaled(),
  training=tagging.training.conll2003,
)
