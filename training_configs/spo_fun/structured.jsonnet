local multilabel = import '../lib/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.spo_fun,
  method=multilabel.method_for.spo_fun.structured(),
)
