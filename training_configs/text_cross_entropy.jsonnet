local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.cross_entropy(),
  training=text.training.sample,
)
