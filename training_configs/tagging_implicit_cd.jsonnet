local tagging = import 'seal/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.sample,
  encoder=tagging.encoder.bilstm(word_dim=64, hidden=64),
  method=tagging.method.implicit_cd(num_samples=20, energy_weight=0.1),
  training=tagging.training.sample,
)
