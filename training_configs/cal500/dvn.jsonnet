local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.cal500,
  method=multilabel.method_for.cal500.dvn(),
)
