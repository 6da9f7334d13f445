// How a tagger is trained: the methods of every task (`methods`), and more. Each returns the part of `model` that it
// adds; its hidden field `trainer` has what it sets in the trainer.
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';
local methods = import 'methods.libsonnet';

function(shared=false) methods(shared) {
  // The inference-network family (Tu, Pang & Gimpel 2020). The loss-net's energy always has weight 1; `tau` is the
  // weight of the local cross-entropy, and `truncation` says whether the networks' own loss has the hinge. In each
  // batch, the networks are updated first, `steps` times (the paper's k), then the energy. With `fresh_batches`, each
  // of these steps takes the next batch, and the energy that of the last. `parts` are further ones of the model.
  local inference_network(tau, truncation, steps, share_encoder, cost, fresh_batches, parts) =
    assert check.from('method', { steps: steps }, 'steps', 1);
    assert check.truth('method', { fresh_batches: fresh_batches }, 'fresh_batches');
    components.with($.margin(cost=cost, share_encoder=share_encoder), {
      trainer+:: {
        first: 'task_net',
        task_net+: { steps: steps },
        [if fresh_batches then 'fresh_batches']: true,
      },
      task_loss: { type: 'inference_network', cross_entropy_weight: tau, zero_truncation: truncation },
    } + parts),

  // One network, which is cost-augmented and then, in the last `fine_tune_epochs`, tuned to be the test-time network
  // (Tu & Gimpel 2018); with 0 of them it stays cost-augmented. `null`: 3, or a third of training if that is less.
  margin_rescaled(
    tau=1.0, truncation=false, steps=1, fine_tune_epochs=null, share_encoder=shared, cost='l1', fresh_batches=false
  ):
    inference_network(tau, truncation, steps, share_encoder, cost, fresh_batches, {
      task_loss+: { cost: { type: cost }, perceptron_weight: 0 },
      trainer+:: {
        // Fine-tuning can make the task-net worse; what was better before it is kept.
        best_of_all_phases: true,
        // These phases follow a warm-up, if there is one.
        local earlier = if 'phases' in super then super.phases[:std.length(super.phases) - 1] else [],
        local epochs = self.num_epochs - std.foldl(function(sum, phase) sum + phase.epochs, earlier, 0),
        local tuned = if fine_tune_epochs == null then std.min(3, std.floor(epochs / 3)) else fine_tune_epochs,
        phases: earlier + (
          if tuned == 0 then [{}]
          else if tuned < epochs then [{}, { epochs: tuned, train: 'task_net', supervised: false }]
          else error 'margin_rescaled(fine_tune_epochs=%d): training has %d epochs for both; set more'
                     % [tuned, epochs]
        ),
      },
    }),

  // The loss without a margin (Eq. 5, second term).
  perceptron(tau=1.0, truncation=false, steps=1, share_encoder=shared, fresh_batches=false):
    inference_network(tau, truncation, steps, share_encoder, 'l1', fresh_batches, {
      energy_loss: { type: 'perceptron' },
      task_loss+: { margin_weight: 0 },
    }),

  // A cost-augmented network beside the test-time network (Eq. 6); `net`, a function of the encoder, is how the two
  // share weights, and `perceptron_weight` the paper's lambda.
  local compound(net) = function(
    perceptron_weight=1.0, tau=1.0, truncation=false, steps=1, share_encoder=shared, cost='l1', fresh_batches=false
  )
    local networks = inference_network(tau, truncation, steps, share_encoder, cost, fresh_batches, {
      sampler: { type: 'stack', samplers: ['cost_augmented_output', 'task_net_output'] },
      energy_loss: { type: 'compound', cost: { type: cost }, perceptron_weight: perceptron_weight, separate: true },
      task_loss+: { cost: { type: cost }, perceptron_weight: perceptron_weight },
    });
    function(encoder, energies) networks(encoder, energies) { cost_augmented_net: net(encoder) },
  compound_separated: compound(function(encoder) { type: 'separated', encoder: encoder }),
  compound_shared: compound(function(encoder) { type: 'shared' }),
  // `q`: a sequence encoder over [A(x)_t ; y_t]; null for the affine map. `cost_augmented_tau`: the weight of its
  // cross-entropy, where that is not `tau`; as it reads gold, cross-entropy teaches it to repeat gold.
  compound_stacked(
    perceptron_weight=1.0,
    tau=1.0,
    truncation=false,
    steps=1,
    share_encoder=shared,
    cost='l1',
    q=null,
    cost_augmented_tau=null,
    fresh_batches=false,
  ):
    local stacked = compound(function(encoder) { type: 'stacked', [if q != null then 'encoder']: q });
    components.with(stacked(perceptron_weight, tau, truncation, steps, share_encoder, cost, fresh_batches), {
      task_loss+: { [if cost_augmented_tau != null then 'cost_augmented_cross_entropy_weight']: cost_augmented_tau },
    }),

  // A cross-entropy tagger and, beside it, a language model of the training data's tags, by maximum likelihood (Tu &
  // Gimpel 2018). It is the one among the energies or, without one, a forward model. Another run can load it:
  //   tagging.energies(tagging.whole.ge_a { pretrained_file: 'runs/lm', frozen: true })
  language_model():
    function(encoder, energies) {
      local is_one(energy) = std.isObject(energy) && energy.type == 'tag_language_model',
      local given = [energy for energy in energies if is_one(energy)],
      local reads_words = std.length(given) > 0 && std.get(given[0], 'gamma', 0) > 0,
      loss_net: {
        [if reads_words && std.get(given[0], 'word_embedder') == null then 'encoder']: encoder,
        energies: if std.length(given) == 0 then [{ type: 'tag_language_model' }] else given,
      },
      sampler: { type: 'gold' },
      energy_loss: { type: 'gold_energy' },
      task_loss: { energy_weight: 0 },
    },

  // Energy-only models predict by gradient descent over the simplex of each token. Adam is not suitable: its first
  // steps have one size for all tags of a token, and what is equal is lost in the projection.
  local search(inference_steps, step_size, inference_optimizer) = components.descent({
    inference_steps: inference_steps,
    step_size: step_size,
    inference_optimizer: inference_optimizer,
  }, { start: 'half' }),

  // Energy alone, by margin training.
  spen(inference_steps=10, step_size=0.5, inference_optimizer='sgd', cost='l1'):
    assert check.cost(cost);
    local found = search(inference_steps, step_size, inference_optimizer);
    components.energy_alone({
      sampler: found { objective: 'cost_augmented', cost: { type: cost } },
      energy_loss: { type: 'margin', cost: { type: cost } },
      inference: found { keep: 'best' },
    }),

  // Energy alone: a deep value network, whose energy is fitted to the token accuracy of the output that it finds and of
  // an adversarial one beside gold.
  dvn(inference_steps=10, step_size=0.2, inference_optimizer='sgd', adversarial_steps=1):
    local found = search(inference_steps, step_size, inference_optimizer);
    local score = { type: 'token_accuracy' };
    local beside_gold = { objective: 'adversarial', score: score, start: 'gold', num_steps: adversarial_steps };
    components.energy_alone({
      sampler: { type: 'stack', samplers: [found, found + beside_gold] },
      energy_loss: { type: 'regression', score: score },
      inference: found { keep: 'best' },
    }),
}
