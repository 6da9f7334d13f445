local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.conll2003,
  encoder=tagging.encoder.ner(),
  method=tagging.method.structured(),
  training=tagging.training.conll2003,
)
