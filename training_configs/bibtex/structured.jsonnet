local multilabel = import '../lib/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.bibtex,
  method=multilabel.method_for.bibtex.structured(),
)
