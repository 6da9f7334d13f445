local tagging = import '../lib/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.conll2003,
  encoder=tagging.encoder.ner(),
  method=tagging.method.implicit_ssvm(),
  training=tagging.training.conll2003,
)
