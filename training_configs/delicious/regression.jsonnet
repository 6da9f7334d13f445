local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.delicious,
  method=multilabel.method_for.delicious.regression(),
)
