local srl = import 'lib/srl.libsonnet';

// Any BERT- or RoBERTa-style model: its name on the hub, or a local folder.
local encoder = 'bert-base-uncased';

srl.experiment(
  data=srl.data.ewt,
  encoder=srl.encoder.transformer(encoder),
  method=srl.method.ranking(),
  epochs=5,
  batch_size=16,
  task_net_lr=5e-5,
  loss_net_lr=5e-5,
)
