local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.nce(num_samples=20, energy_weight=0.1),
  training=text.training.sample,
)
