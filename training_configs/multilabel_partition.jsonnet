local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.sample,
  method=multilabel.method_for.sample.partition(),
)
