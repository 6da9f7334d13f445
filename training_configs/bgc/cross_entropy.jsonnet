local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.bgc,
  // BERT with adapters, as in SEAL, ICLR 2022 submission, section 4.2.
  encoder=text.encoder.transformer('bert-base-uncased', adapters={}),
  method=text.method.cross_entropy(),
  training=text.training.bgc,
)
