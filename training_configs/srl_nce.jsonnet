local srl = import 'lib/srl.libsonnet';

srl.experiment(
  data=srl.data.sample,
  encoder=srl.encoder.bilstm(),
  // A loss-net learns by NCE over whole frames of a CRF, and a small energy chooses among the CRF's best frames in
  // prediction. The paper's NCE, over tags one by one and not in prediction, is srl.method.nce().
  method=srl.method.seal(over=srl.method.crf(over=srl.method.nce()), folds_with_loss_net=false),
  training=srl.training.sample,
)
