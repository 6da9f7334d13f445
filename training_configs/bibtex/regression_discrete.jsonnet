local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.bibtex,
  method=multilabel.method_for.bibtex.regression_discrete(),
)
