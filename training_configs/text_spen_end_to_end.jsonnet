local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.spen_end_to_end(),
  training=text.training.sample,
)
