// How a mask is learned, by name. A method is a function of the settings (`segmentation_settings`); what it returns is,
// as in every task, a function of the encoder and the energies (`methods.libsonnet`).
local components = import 'components.libsonnet';
local methods = (import 'methods.libsonnet')();
local descent = components.descent;
local with = components.with;

local iou = { type: 'soft_iou' };
local regression = { type: 'regression', score: iou };
// Draws of masks in which the errors of neighbouring pixels are correlated.
local draws(s) = {
  sampler: {
    type: 'correlated_draws',
    num_samples: s.num_samples,
    num_fields: s.num_fields,
    std: s.noise,
    width: s.noise_width,
  },
};
// The masks at which a regression energy is fitted: those of `samplers` and, with the setting `anchors`, masks whose
// scores lie far apart. Fitted at the task-net's output alone, the energy learns how good that is on average, and not
// what makes a mask good.
local fitted_at(s, samplers) =
  local anchors = [{ type: 'gold' }, { type: 'smooth_perturbation', num_samples: 1, std: 3.0, width: 3.0 }];
  local all = samplers + if s.anchors then anchors else [];
  if std.length(all) == 1 then all[0] else { type: 'stack', samplers: all };
local dynamic(s, sampler, energy_loss) =
  methods.own(sampler, energy_loss, s.energy_weight, { straight_through: s.straight_through });

{
  cross_entropy(s): methods.cross_entropy(),
  // The energy has a network of its own.
  spen_end_to_end(s): function(encoder, energies)
    local steps = { energy_encoder: encoder, num_steps: s.inference_steps, step_size: s.step_size };
    components.end_to_end(steps)(encoder, energies),

  // Energy alone, with gradient-based inference (SEAL, NeurIPS 2022, section 2.3; Gygli et al. 2017). The energy is
  // fitted at its minimum, at a step from gold towards the worst error, and at anchors. The anchors are ours: without
  // them, our short runs with adam gave every mask the same value.
  dvn(s): components.energy_alone({
    sampler: fitted_at(s, [
      descent(s),
      descent(s, { objective: 'adversarial', score: iou, start: 'gold', num_steps: s.adversarial_steps }),
    ]),
    energy_loss: regression,
    inference: descent(s),
  }),

  regression(s): dynamic(s, fitted_at(s, [{ type: 'task_net_output' }]), regression),
  // With the setting `anchors`, which is ours.
  regression_anchored: self.regression,
  // The task-net's output, clean and with patches of noise. The loss is the mean over the candidates instead of the
  // paper's sum, so that the learning rate need not change with their number.
  regression_s(s): dynamic(s, {
    type: 'smooth_perturbation',
    num_samples: s.num_samples,
    std: s.noise,
    width: s.noise_width,
    include_clean: true,
  }, regression { reduction: 'mean' }),
  nce(s): with(self.nce_independent(s), draws(s)),
  // Pixels are drawn independently, as in the paper, which found no gain.
  nce_independent(s): methods.nce(s.num_samples, s.energy_weight, straight_through=s.straight_through),
  ranking(s): with(methods.ranking(s.num_samples, s.energy_weight, straight_through=s.straight_through), draws(s)),

  // Bi-level training: the loss-net's gradient includes its effect on the task-net. Pixels are drawn independently, as
  // the gradient passes through a draw by the probabilities of its pixels.
  implicit_cd(s): with(
    methods.implicit_cd(s.num_samples, s.energy_weight, s.solver_steps, s.damping),
    {
      energy_loss+: { cost: { type: 'one_minus', score: iou } },
      task_loss+: { straight_through: s.straight_through },
    },
  ),
}
