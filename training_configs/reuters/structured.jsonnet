local text = import 'seal/text.libsonnet';

// Any BERT- or RoBERTa-style model: its name on the hub, or a local folder.
local encoder = 'bert-base-uncased';

text.experiment(
  data=text.data.reuters,
  encoder=text.encoder.transformer(encoder),
  method=text.method.structured(),
  training=text.training.reuters,
)
