local srl = import 'lib/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.seal(),
  training=srl.training.sample,
)
