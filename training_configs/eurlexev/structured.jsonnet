local multilabel = import '../lib/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.eurlexev,
  method=multilabel.method_for.eurlexev.structured(),
)
