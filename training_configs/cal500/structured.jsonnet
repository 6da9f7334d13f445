local multilabel = import '../lib/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.cal500,
  method=multilabel.method_for.cal500.structured(),
)
