local tagging = import 'lib/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.conll2003,
  encoder=tagging.encoder.bilstm(features={ pos: 16, chunk: 8, case: 4 }),
  method=tagging.method.compound_stacked(),
  training=tagging.training.conll2003,
  energies=tagging.energies(tagging.whole.ge_a),
)
