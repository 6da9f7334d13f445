// How the task-net is trained. Each method returns what `model` has besides the task-net, mostly a loss-net; `energies`
// are the terms of the task's energy. `energy_weight` is the paper's lambda_1, for which it reports no value: 0.1 was
// chosen on the dev data of the embedded sentences. With `share_encoder`, the loss-net reads the task-net's vectors
// instead of those of an encoder of its own; `shared` is whether it does so unless told.
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';

local own(sampler, energy_loss, share_encoder, task_loss) = function(encoder, energies) {
  loss_net: { energies: energies, [if !share_encoder then 'encoder']: encoder },
  sampler: sampler,
  energy_loss: energy_loss,
  task_loss: task_loss,
};
local dynamic(energy_loss, sampler, energy_weight, share_encoder, straight_through=false) =
  own(sampler, energy_loss, share_encoder, { energy_weight: energy_weight, straight_through: straight_through });
local draws(num_samples) = { type: 'discrete', num_samples: num_samples };
local with = components.with;
local bi_level(solver_steps, damping, last_layer) =
  components.bi_level(solver_steps, damping, { [if last_layer then 'inner_parameters']: 'last_layer' });

function(shared=false) {
  cross_entropy(): function(encoder, energies) {},

  // A chain over the task-net's logits in place of tags one by one, for a net that the method `over` trains: learned
  // scores of two tags in a row (a conditional random field), or only legal sequences and no further parameters.
  crf(over=$.cross_entropy()):
    with(over, { output_space+: { type: 'crf_tag_sequence' } }),
  legal(over=$.cross_entropy()):
    with(over, { output_space+: { type: 'legal_tag_sequence' } }),

  // Structure in prediction: a small energy chooses among the k best outputs of a net that the method `over` trains. It
  // is learned on the scores of `folds` nets that have not seen the instance. To save time, these can be trained by
  // cross-entropy alone where `over` has a loss-net.
  structured(over=$.crf(), structure={ type: 'tags' }, folds=3, folds_with_loss_net=true):
    with(over, {
      structure: structure,
      trainer+:: { folds: folds, [if folds_with_loss_net != true then 'folds_with_loss_net']: folds_with_loss_net },
    }),

  // Learns from inputs without gold, too: those of `data.unlabelled`, which with `data.plain_text` has one a line. What
  // the method `over` has trained says what their outputs are, draws or with `hard` its predictions, and a second net
  // learns from these and from gold.
  self_training(over=$.structured(), hard=false, labelled_share=0.5):
    with(over, { trainer+:: { self_training: { hard: hard, labelled_share: labelled_share } } }),

  // A net that predicts alone what the method `over` predicts with its structure: it learns from gold and from draws of
  // that distribution over whole outputs, on the training data's inputs and those of `data.unlabelled`, if there are
  // any.
  distilled(over=$.structured(), hard=false, labelled_share=0.5):
    with(over, { trainer+:: { self_training: { distil: true, hard: hard, labelled_share: labelled_share } } }),

  // Structured tuning (Li et al. 2020): besides its cross-entropy, the net of the method `over` pays `weight` nats for
  // each of `roles` that it expects more than once; or with `log_space` what the paper's own form says.
  structured_tuning(weight=3.0, roles=['ARG0', 'ARG1', 'ARG2'], over=$.cross_entropy(), log_space=false):
    with(over, {
      task_loss: {
        type: 'constrained',
        weight: weight,
        constraints: [{ type: 'at_most_one', labels: roles, each: true, name: 'core_twice' }],
        [if log_space then 'log_space']: true,
      },
    }),

  // See `components.end_to_end`. `weights` says how the steps count. With `truncation`, gradients pass back through so
  // many steps; `checkpoint` takes time for memory.
  spen_end_to_end(
    inference_steps=5,
    step_size=0.5,
    momentum=0.5,
    entropy_weight=1.0,
    truncation=null,
    checkpoint=false,
    weights='late',
  ):
    components.end_to_end({
      num_steps: inference_steps,
      step_size: step_size,
      momentum: momentum,
      entropy_weight: entropy_weight,
      truncation: truncation,
      checkpoint: checkpoint,
    }, { weights: weights }),

  // SEAL-dynamic with noise-contrastive estimation (SEAL, NeurIPS 2022, Eq. 9). With `through_draws`, the task-net
  // follows the energy of whole outputs that are drawn from it, and not that of its relaxed output.
  nce(num_samples=20, energy_weight=0.1, share_encoder=shared, straight_through=false, through_draws=false):
    assert !(straight_through && through_draws) : 'nce: set straight_through or through_draws, not both';
    with(dynamic({ type: 'nce_ranking' }, draws(num_samples), energy_weight, share_encoder, straight_through), {
      [if through_draws then 'task_loss']:
        { type: 'through_draws', num_samples: num_samples, energy_weight: energy_weight },
    }),

  // SEAL-dynamic with plain ranking (ICLR 2022 submission, Eq. 10).
  ranking(num_samples=20, energy_weight=0.1, share_encoder=shared, straight_through=false):
    dynamic({ type: 'ranking' }, draws(num_samples), energy_weight, share_encoder, straight_through),

  // SEAL-dynamic with regression (Eq. 7): the energy is fitted to the F1 of draws from the task-net.
  regression_discrete(num_samples=10, energy_weight=3, share_encoder=shared):
    dynamic({ type: 'regression' }, draws(num_samples), energy_weight, share_encoder),

  // SEAL-dynamic with the margin loss (Eq. 6).
  margin(energy_weight=0.1, cost='l1', share_encoder=shared):
    assert check.cost(cost);
    dynamic({ type: 'margin', cost: { type: cost } }, { type: 'task_net_output' }, energy_weight, share_encoder),

  // A sampler and an energy loss of your own, or of those that are registered: SEAL-dynamic with them. `task_loss` has
  // settings of the task loss besides the energy's weight; with its `type`, that is one of your own, too.
  own(sampler, energy_loss, energy_weight=0.1, task_loss={}, share_encoder=shared):
    own(sampler, energy_loss, share_encoder, { energy_weight: energy_weight } + task_loss),

  // Bi-level training: contrastive divergence whose gradient includes the loss-net's effect on the task-net. With
  // `last_layer=true`, it includes the effect on the last layer alone, which takes a small part of the time if the
  // encoder is a transformer.
  implicit_cd(
    num_samples=20, energy_weight=0.1, solver_steps=5, damping=0.1, last_layer=false, share_encoder=shared
  ):
    with(
      dynamic({ type: 'contrastive_divergence' }, draws(num_samples), energy_weight, share_encoder),
      bi_level(solver_steps, damping, last_layer)
    ),

  // The same with the margin loss, a structured SVM, at the task-net's output.
  implicit_ssvm(
    energy_weight=0.1, cost='l1', solver_steps=5, damping=0.1, last_layer=false, share_encoder=shared
  ):
    with($.margin(energy_weight, cost, share_encoder), bi_level(solver_steps, damping, last_layer)),
}
