local tagging = import 'lib/tagging.libsonnet';

tagging.experiment(
  data=tagging.data.wnut17,
  encoder=tagging.encoder.bilstm(),
  method=tagging.method.nce(num_samples=20, energy_weight=0.1),
  training=tagging.training.wnut17,
)
