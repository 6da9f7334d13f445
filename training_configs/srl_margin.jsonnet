local srl = import 'seal/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.margin(energy_weight=0.1),
  training=srl.training.sample,
)
