local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.sample,
  encoder=tagging.encoder.bilstm(word_dim=64, hidden=64),
  method=tagging.method.crf(),
  training=tagging.training.sample,
)
