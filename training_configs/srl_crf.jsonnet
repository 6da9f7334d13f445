local srl = import 'seal/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.crf(),
  training=srl.training.sample,
)
