local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.structured(),
  training=text.training.sample,
)
