local parsing = import 'seal/parsing.libsonnet';

parsing.experiment(
  data=parsing.data.sample,
  encoder=parsing.encoder.bilstm(),
  method=parsing.method.cross_entropy(),
  training=parsing.training.sample,
)
