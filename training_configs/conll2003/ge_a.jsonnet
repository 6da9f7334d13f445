local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.conll2003,
  encoder=tagging.encoder.ner(),
  method=tagging.method.compound_stacked(),
  training=tagging.training.conll2003,
  energies=tagging.energies(tagging.whole.ge_a),
)
