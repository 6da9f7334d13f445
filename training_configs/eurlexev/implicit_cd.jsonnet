local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.eurlexev,
  method=multilabel.method_for.eurlexev.implicit_cd(),
)
