local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.expr_fun,
  method=multilabel.method_for.expr_fun.dvn(),
)
