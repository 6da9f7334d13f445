local srl = import 'lib/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  // In training, a loss-net learns by NCE, over whole frames of a CRF; in prediction, a small energy chooses among them.
  method=srl.method.seal(over=srl.method.crf(over=srl.method.nce()), folds_with_loss_net=false),
  training=srl.training.sample,
)
