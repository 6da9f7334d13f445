local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.ud_ewt_pos,
  encoder=tagging.encoder.bilstm(),
  method=tagging.method.margin_rescaled(),
  training=tagging.training.ud_ewt_pos,
)
