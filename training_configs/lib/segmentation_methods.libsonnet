// How a mask is learned, by name. A method is a function of the settings (`segmentation_settings`) and the two nets. It
// returns parts of a config: `model` and, where the method needs them, fields of the `trainer`.
local components = import 'components.libsonnet';
local descent = components.descent;

local iou = { type: 'soft_iou' };
// Draws of masks in which the errors of neighbouring pixels are correlated.
local draws(s) = {
  type: 'correlated_draws',
  num_samples: s.num_samples,
  num_fields: s.num_fields,
  std: s.noise,
  width: s.noise_width,
};
local independent_draws(s) = { type: 'discrete', num_samples: s.num_samples };
// The task-net's output, clean and with patches of noise.
local noisy_output(s) = {
  type: 'smooth_perturbation',
  num_samples: s.num_samples,
  std: s.noise,
  width: s.noise_width,
  include_clean: true,
};

// The masks at which a regression energy is fitted: those of `samplers` and, with the setting `anchors`, masks whose
// scores lie far apart. Fitted at the task-net's output alone, the energy learns how good that is on average, and not
// what makes a mask good.
local fitted_at(s, samplers) =
  local anchors = [{ type: 'gold' }, { type: 'smooth_perturbation', num_samples: 1, std: 3.0, width: 3.0 }];
  local all = samplers + if s.anchors then anchors else [];
  if std.length(all) == 1 then all[0] else { type: 'stack', samplers: all };

local dynamic(energy_loss, sampler) = function(s, task_net, loss_net) {
  model: {
    task_net: task_net,
    loss_net: loss_net,
    sampler: sampler(s),
    energy_loss: energy_loss,
    task_loss: { energy_weight: s.energy_weight, straight_through: s.straight_through },
  },
};
local regression = dynamic({ type: 'regression', score: iou }, function(s) fitted_at(s, [{ type: 'task_net_output' }]));

{
  cross_entropy: function(s, task_net, loss_net) { model: { task_net: task_net } },

  // Energy alone, trained end to end (Belanger, Yang & McCallum 2017): a fully convolutional network's output is the
  // start of a descent on an energy, and gradients pass through its steps.
  spen_end_to_end: function(s, task_net, loss_net) {
    model: {
      task_net: task_net + components.unrolled(loss_net.energies) {
        energy_encoder: loss_net.encoder,
        num_steps: s.inference_steps,
        step_size: s.step_size,
      },
      task_loss: { type: 'every_step' },
    },
  },

  // Energy alone, with gradient-based inference (SEAL, NeurIPS 2022, section 2.3; Gygli et al. 2017). The energy is
  // fitted at its minimum, at a step from gold towards the worst error, and at anchors. The anchors are ours: without
  // them, our short runs with adam gave every mask the same value.
  dvn: function(s, task_net, loss_net) {
    model: {
      loss_net: loss_net,
      sampler: fitted_at(s, [
        descent(s),
        descent(s, { objective: 'adversarial', score: iou, start: 'gold', num_steps: s.adversarial_steps }),
      ]),
      energy_loss: { type: 'regression', score: iou },
      inference: descent(s),
    },
  },

  regression: regression,
  // With the setting `anchors`, which is ours.
  regression_anchored: regression,
  // The loss is the mean over the candidates instead of the paper's sum, so that the learning rate need not change with
  // their number.
  regression_s: dynamic({ type: 'regression', score: iou, reduction: 'mean' }, noisy_output),
  nce: dynamic({ type: 'nce_ranking' }, draws),
  // Pixels are drawn independently, as in the paper, which found no gain.
  nce_independent: dynamic({ type: 'nce_ranking' }, independent_draws),
  ranking: dynamic({ type: 'ranking' }, draws),

  // Bi-level training: the loss-net's gradient includes its effect on the task-net. Pixels are drawn independently, as
  // the gradient passes through a draw by the probabilities of its pixels.
  implicit_cd: function(s, task_net, loss_net)
    local cost = { type: 'one_minus', score: iou };
    dynamic({ type: 'contrastive_divergence', cost: cost }, independent_draws)(s, task_net, loss_net)
    { trainer: components.implicit_gradient(s.solver_steps, s.damping) },
}
