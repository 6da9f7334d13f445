local multilabel = import '../lib/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.genbase,
  method=multilabel.method_for.genbase.structured(),
)
