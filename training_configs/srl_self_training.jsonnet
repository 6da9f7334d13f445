local srl = import 'seal/srl.libsonnet';

// A tenth of the sentences with their labels, and all the others without.
srl.experiment(
  data=srl.data.sample { unlabelled: srl.data.sample.train },
  encoder=srl.encoder.bilstm(word_dropout=0.25),
  method=srl.method.self_training(),
  training=srl.training.sample { epochs: 16, batches_per_epoch: 100, fraction: 0.1 },
)
