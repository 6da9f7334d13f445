local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.sample,
  method=multilabel.method_for.sample.spen_end_to_end(),
)
