local multilabel = import 'seal/multilabel.libsonnet';

multilabel.experiment(
  data=multilabel.data.bookmarks,
  method=multilabel.method_for.bookmarks.structured(),
)
