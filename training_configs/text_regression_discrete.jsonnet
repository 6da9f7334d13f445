local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.regression_discrete(num_samples=10, energy_weight=3),
  training=text.training.sample,
)
