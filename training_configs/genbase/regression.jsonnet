local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.genbase,
  method=multilabel.method_for.genbase.regression(),
)
