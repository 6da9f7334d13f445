local citations = import 'seal/citation_tagging.libsonnet';

citations.semi_supervised(
  labelled=10,
  method=citations.method.implicit_rewarded_cd(),
)
