local tagging = import 'lib/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.sample,
  encoder=tagging.encoder.bilstm(word_dim=64, hidden=64),
  method=tagging.method.margin_rescaled(fine_tune_from=8),
  training=tagging.training.sample,
)
