local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.margin(energy_weight=0.1),
  training=text.training.sample,
)
