local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.spo_fun,
  method=multilabel.method_for.spo_fun.regression(),
)
