local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.twitter_pos,
  encoder=tagging.encoder.bilstm(),
  method=tagging.method.margin(),
  training=tagging.training.twitter_pos,
)
