local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.twitter_pos,
  encoder=tagging.encoder.bilstm(),
  method=tagging.method.compound_stacked(),
  training=tagging.training.twitter_pos,
  energies=tagging.energies(tagging.whole.ge_a),
)
