local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.conll2003,
  encoder=tagging.encoder.ner(),
  method=tagging.method.margin_rescaled(),
  training=tagging.training.conll2003,
)
