// How a parser is trained: the methods of tagging (`tagging_methods.libsonnet`) that train a task-net for output steps.
// The loss-net, and a shared cost-augmented network, read the task-net's vectors, the feature network `f` of the paper;
// with `share_encoder=false` the loss-net has a feature network of its own.
local tagging = import 'tagging_methods.libsonnet';

{
  // A sequence-to-sequence network with attention.
  cross_entropy(): tagging.cross_entropy(),

  // Structure in prediction: a small energy of rules and of words that hang on each other chooses among the trees of
  // the beam of a parser that the method `over` trains. It is learned on the trees of `folds` nets that have not seen
  // the sentence.
  structured(over=$.cross_entropy(), structure={ type: 'trees' }, folds=3, folds_with_loss_net=true):
    tagging.structured(over, structure, folds, folds_with_loss_net),

  // Inference networks. `perceptron_weight`, earlier `lambda`, is the weight of the test-time network's energy, `tau`
  // that of local cross-entropy.
  compound_stacked(
    perceptron_weight=1.0,
    tau=1.0,
    truncation=false,
    steps=1,
    share_encoder=true,
    cost='l1',
    q=null,
    cost_augmented_tau=null,
    fresh_batches=false,
    lambda=null,
  ):
    tagging.compound_stacked(
      perceptron_weight, tau, truncation, steps, share_encoder, cost, q, cost_augmented_tau, fresh_batches, lambda
    ),
  compound_shared(
    perceptron_weight=1.0,
    tau=1.0,
    truncation=false,
    steps=1,
    share_encoder=true,
    cost='l1',
    fresh_batches=false,
    lambda=null,
  ):
    tagging.compound_shared(
      perceptron_weight, tau, truncation, steps, share_encoder, cost, fresh_batches, lambda
    ),
  compound_separated(
    perceptron_weight=1.0,
    tau=1.0,
    truncation=false,
    steps=1,
    share_encoder=true,
    cost='l1',
    fresh_batches=false,
    lambda=null,
  ):
    tagging.compound_separated(
      perceptron_weight, tau, truncation, steps, share_encoder, cost, fresh_batches, lambda
    ),
  margin_rescaled(
    tau=1.0,
    truncation=false,
    steps=1,
    fine_tune_epochs=null,
    share_encoder=true,
    cost='l1',
    fresh_batches=false,
  ):
    tagging.margin_rescaled(tau, truncation, steps, fine_tune_epochs, share_encoder, cost, fresh_batches),
  perceptron(tau=1.0, truncation=false, steps=1, share_encoder=true, fresh_batches=false):
    tagging.perceptron(tau, truncation, steps, share_encoder, fresh_batches),

  // SEAL-dynamic.
  margin(energy_weight=0.1, cost='l1', share_encoder=true): tagging.margin(energy_weight, cost, share_encoder),
  nce(num_samples=20, energy_weight=0.1, share_encoder=true, straight_through=false):
    tagging.nce(num_samples, energy_weight, share_encoder, straight_through),
  ranking(num_samples=20, energy_weight=0.1, share_encoder=true, straight_through=false):
    tagging.ranking(num_samples, energy_weight, share_encoder, straight_through),

  // Bi-level training, with implicit gradients.
  implicit_cd(
    num_samples=20,
    energy_weight=0.1,
    solver_steps=5,
    damping=0.1,
    last_layer=false,
    share_encoder=true,
  ):
    tagging.implicit_cd(num_samples, energy_weight, solver_steps, damping, last_layer, share_encoder),
}
