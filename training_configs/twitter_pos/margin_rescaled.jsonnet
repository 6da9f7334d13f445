local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.twitter_pos,
  encoder=tagging.encoder.bilstm(),
  method=tagging.method.margin_rescaled(),
  training=tagging.training.twitter_pos,
)
