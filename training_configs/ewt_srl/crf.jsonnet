local srl = import 'seal/srl.libsonnet';

// Any BERT- or RoBERTa-style model: its name on the hub, or a local folder.
local encoder = 'bert-base-uncased';

srl.experiment(
  data=srl.data.ewt,
  encoder=srl.encoder.transformer(encoder),
  method=srl.method.crf(),
  training=srl.training.ewt,
)
