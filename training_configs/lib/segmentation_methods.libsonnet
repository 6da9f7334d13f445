// How a mask is learned, by name: functions of the settings (`segmentation_settings`) and the two nets to what a config
// says of them: `model`, and more of the trainer where a method needs it.
local iou = { type: 'soft_iou' };
local descent(s, more={}) = {
  type: 'gradient_based_inference',
  num_steps: s.inference_steps,
  step_size: s.step_size,
  optimizer: s.inference_optimizer,
  start: 'zeros',
} + more;
// Masks whose neighbouring pixels err together.
local draws(s) = {
  type: 'correlated_draws',
  num_samples: s.num_samples,
  num_fields: s.num_fields,
  std: s.noise,
  width: s.noise_width,
};
local independent_draws(s) = { type: 'discrete', num_samples: s.num_samples };
// The task-net's output as it is, and with patches of noise.
local noisy_output(s) = {
  type: 'smooth_perturbation',
  num_samples: s.num_samples,
  std: s.noise,
  width: s.noise_width,
  include_clean: true,
};

// What a regression energy is fitted at: `samplers`, and anchors, masks whose scores lie far apart. Fitted at nothing
// but the task-net's output it learns how good that is on average, and not what makes a mask good.
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

  // Energy alone, with gradient-based inference (SEAL, NeurIPS 2022, section 2.3; Gygli et al. 2017): fitted at the
  // energy's minimum, and a step from gold towards the worst error; and at anchors, which are ours: our short runs
  // without them, by adam, gave every mask the same value.
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
  // With `anchors`, which are ours.
  regression_anchored: regression,
  // The mean over the candidates in place of the paper's sum: the rate need not change with their number.
  regression_s: dynamic({ type: 'regression', score: iou, reduction: 'mean' }, noisy_output),
  nce: dynamic({ type: 'nce_ranking' }, draws),
  // With pixels drawn by themselves, as in the paper, which found no gain.
  nce_independent: dynamic({ type: 'nce_ranking' }, independent_draws),
  ranking: dynamic({ type: 'ranking' }, draws),

  // Bi-level training: the loss-net's gradient counts what it does to the task-net.
  implicit_cd: function(s, task_net, loss_net)
    dynamic({ type: 'contrastive_divergence', cost: { type: 'one_minus', score: iou } }, draws)(s, task_net, loss_net)
    {
      trainer: {
        type: 'implicit_gradient',
        // Without the residual: it costs a product more a step.
        solver: { type: 'neumann', max_steps: s.solver_steps, damping: s.damping, measure_residual: false },
      },
    },
}
