// How a parser is trained: the methods of tagging (`tagging_methods.libsonnet`) that train a task-net for output steps.
// The loss-net, and a shared cost-augmented network, read the task-net's vectors, the feature network `f` of the paper;
// with `share_encoder=false` the loss-net has a feature network of its own.
local tagging = (import 'tagging_methods.libsonnet')(shared=true);

{
  cross_entropy: tagging.cross_entropy,
  compound_stacked: tagging.compound_stacked,
  compound_shared: tagging.compound_shared,
  compound_separated: tagging.compound_separated,
  margin_rescaled: tagging.margin_rescaled,
  perceptron: tagging.perceptron,
  margin: tagging.margin,
  nce(num_samples=20, energy_weight=0.1, share_encoder=true, straight_through=false):
    tagging.nce(num_samples, energy_weight, share_encoder, straight_through),
  ranking: tagging.ranking,
  implicit_cd: tagging.implicit_cd,

  // Structure in prediction: a small energy of rules and of words that hang on each other chooses among the trees of
  // the beam of a parser that the method `over` trains. It is learned on the trees of `folds` nets that have not seen
  // the sentence.
  structured(over=$.cross_entropy(), structure={ type: 'trees' }, folds=3, folds_with_loss_net=true):
    tagging.structured(over, structure, folds, folds_with_loss_net),
}
