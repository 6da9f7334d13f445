local citations = import 'seal/citation_tagging.libsonnet';

citations.supervised(
  labelled=50,
  method=citations.method.compound_stacked(),
)
