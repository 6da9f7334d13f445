local srl = import 'seal/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.structured_tuning(),
  training=srl.training.sample,
)
