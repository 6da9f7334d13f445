local parsing = import 'seal/parsing.libsonnet';

parsing.experiment(
  data=parsing.data.sample,
  encoder=parsing.encoder.bilstm(),
  method=parsing.method.margin_rescaled(),
  training=parsing.training.sample,
)
