local text = import 'lib/text.libsonnet';

text.experiment(
  data=text.data.sample,
  encoder=text.encoder.cnn(),
  method=text.method.seal(),
  training=text.training.sample,
)
