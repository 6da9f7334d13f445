// Energies in both ways: a loss-net learns by NCE (SEAL) and trains the task-net; then, in prediction, `structured`.
local srl = import 'seal/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  method=srl.method.structured(over=srl.method.crf(over=srl.method.nce()), folds_with_loss_net=false),
  training=srl.training.sample,
)
