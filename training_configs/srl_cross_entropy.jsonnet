local srl = import 'seal/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.cross_entropy(),
  training=srl.training.sample,
)
