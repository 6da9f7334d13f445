local text = import 'seal/text.libsonnet';

text.experiment(
  data=text.data.aapd,
  // The 50,000 most frequent words, as in Yang et al. 2018.
  encoder=text.encoder.bilstm(vocabulary_size=50000, max_length=500),
  method=text.method.cross_entropy(),
  training=text.training.aapd,
)
