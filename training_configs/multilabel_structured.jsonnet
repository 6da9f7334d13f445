local multilabel = import 'lib/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.sample,
  method=multilabel.method_for.sample.structured(),
)
