local srl = import 'seal/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.spen_end_to_end(),
  training=srl.training.sample,
)
