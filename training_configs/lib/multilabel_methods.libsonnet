// How a net is trained, by name. A method is a function of the settings (`multilabel_settings`); what it returns is, as
// in every task, a function of the encoder and the energies (`methods.libsonnet`).
local components = import 'components.libsonnet';
local methods = (import 'methods.libsonnet')();
local descent = components.descent;
local with = components.with;

local output = { type: 'task_net_output' };
local draws(s) = { type: 'discrete', num_samples: s.num_samples };

// Samplers whose candidates do not depend on the task-net that is trained, each with its loss.
local of_energy_alone = {
  margin(s): { sampler: descent(s, { objective: 'cost_augmented' }), energy_loss: { type: 'margin' } },
  // The two samples of deep value networks: the energy's minimum, and a step from gold towards the worst error. With
  // `search_path`, also gold and all points that the search passes, whose values it follows.
  regression(s): {
    sampler: {
      type: 'stack',
      samplers: [
        descent(s, if s.search_path then { keep: 'trajectory' } else {}),
        descent(s, { objective: 'adversarial', start: 'gold', num_steps: 1 }),
      ] + if s.search_path then ['gold'] else [],
    },
    energy_loss: { type: 'regression', [if s.search_path then 'reduction']: 'mean' },
  },
  // Draws from the noise net.
  nce(s): { sampler: draws(s), energy_loss: { type: 'nce_ranking' } },
};

// Models that predict by minimizing the energy.
local searching(s, loss) = function(encoder, energies) of_energy_alone[loss](s) {
  loss_net: { encoder: encoder, energies: energies },
  inference: descent(s, {
    keep: 'best',
    [if s.prediction_steps != null then 'num_steps']: s.prediction_steps,
  } + if s.restarts > 1 then { start: 'random', restarts: s.restarts } else {}),
};

local by_cross_entropy(s) = { epochs: s.task_net_epochs, train: 'task_net', energy: false };
// The same after a task-net was trained: by an earlier run, which the setting `task_net_from` names, or by
// cross-entropy in a first phase.
local behind_task_net(loss, phase) = function(s) with(searching(s, loss), {
  task_net+: { [if s.task_net_from != null then 'pretrained_file']: s.task_net_from },
  trainer:: { phases: (if s.task_net_from == null then [by_cross_entropy(s)] else []) + [phase { train: 'loss_net' }] },
});

// SEAL-static: the loss-net is fixed while the task-net is trained. It is that of an earlier run, which the setting
// `loss_net_from` names; without this setting, the run trains the loss-net first.
local static(loss) = function(s) with(methods.own(null, null, s.energy_weight), of_energy_alone[loss](s) {
  loss_net+: { [if s.loss_net_from != null then 'pretrained_file']: s.loss_net_from },
  trainer:: { phases:
    if s.loss_net_from != null then [{ train: 'task_net' }]
    else if loss == 'nce' then [
      by_cross_entropy(s),
      { epochs: s.loss_net_epochs, train: 'loss_net' },
      { train: 'task_net', restart: true },
    ]
    else [{ epochs: s.loss_net_epochs, train: 'loss_net' }, { train: 'task_net' }] },
});

// SEAL-dynamic: both nets are trained.
local dynamic(method, cross_entropy_weight=1.0) = with(method, {
  local given = super.task_loss,
  task_loss: { energy_weight: given.energy_weight, cross_entropy_weight: cross_entropy_weight },
});
local by_output(s, loss) = methods.own(output, { type: loss }, s.energy_weight);

// Bi-level training (implicit-training paper): the loss-net's gradient includes its effect on the task-net.
local soft_f1 = { cost: { type: 'one_minus', score: { type: 'soft_f1' } } };
local primary = {
  ssvm(s): methods.own(output, { type: 'margin' } + soft_f1, s.energy_weight),
  // The paper's formula differentiates the score, too; `model+: { energy_loss+: { constant_score: false } }` does. Here
  // the score is a target, and a constant in the implicit gradient: its slope would be the energy (RegressionLoss).
  dvn(s): methods.own(output, { type: 'regression', constant_score: true }, s.energy_weight),
  cd(s): methods.own(draws(s), { type: 'contrastive_divergence' }, s.energy_weight),
  // One network in both hinges (Eq. 5).
  compound(s): methods.own(
    output, { type: 'compound', perceptron_weight: s.perceptron_weight } + soft_f1, s.energy_weight
  ),
};
local implicit(loss) =
  function(s) with(primary[loss](s), components.bi_level(s.solver_steps, s.damping));
// The same losses in the same order without the implicit term, to show what that term adds.
local alternating(loss) = function(s) with(primary[loss](s), { trainer:: { first: 'task_net' } });

{
  cross_entropy(s): methods.cross_entropy(),
  // Structure in prediction: a small energy chooses among the label sets of the training data.
  structured(s): methods.structured(methods.cross_entropy(), { type: 'label_sets' }, s.folds),
  // Learns from inputs without gold, too: those of `data.unlabelled`. What the method `over`, or the one of that name,
  // has trained says what their labels are, and a second net learns from these and from gold.
  self_training(s):
    assert !std.isString(s.over) || std.objectHas($, s.over) :
           'no method %s; choose from: %s' % [s.over, std.join(', ', std.objectFields($))];
    local over = if std.isString(s.over) then $[s.over](s) else s.over;
    methods.self_training(over, s.hard, s.labelled_share),
  // A net that predicts alone what `structured` predicts with its structure: it learns from gold and from draws of that
  // distribution over whole label sets, on the training data's inputs and those of `data.unlabelled`, if there are any.
  distilled(s): methods.distilled($.structured(s), s.hard, s.labelled_share),

  // SEAL, NeurIPS 2022, section 2.3, with gradient-based inference. A SPEN starts from a net that cross-entropy has
  // trained: its authors pretrain it so, and the learning rates of SEAL's authors are too low for an untrained net.
  spen: behind_task_net('margin', { copy_task_net: true }),
  spen_end_to_end(s): components.end_to_end({ num_steps: s.inference_steps, step_size: s.step_size }),
  dvn(s): with(searching(s, 'regression'), { task_net:: null }),
  // The task-net is the noise distribution.
  nce_energy: behind_task_net('nce', {}),

  static_margin: static('margin'),
  static_regression: static('regression'),
  static_nce: static('nce'),

  margin(s): dynamic(by_output(s, 'margin')),
  regression(s): dynamic(by_output(s, 'regression')),
  // Gaussian noise on the task-net's output, which is, clean, one of the `num_samples`, as in the authors' code. With
  // `anchors`, which is ours, the energy is fitted at gold, too; otherwise nothing says what it is there.
  regression_s(s):
    local noisy = {
      type: 'gaussian_perturbation',
      num_samples: s.num_samples,
      std: s.noise,
      space: s.noise_space,
      include_clean: true,
    };
    with($.regression(s), { sampler: if s.anchors then { type: 'stack', samplers: [noisy, 'gold'] } else noisy }),
  regression_discrete(s): dynamic(methods.regression_discrete(s.num_samples, s.energy_weight)),
  nce(s): dynamic(methods.nce(s.num_samples, s.energy_weight)),
  ranking(s): dynamic(methods.ranking(s.num_samples, s.energy_weight)),
  // Maximum likelihood with a learned partition function (Sander et al. 2025).
  partition(s): with($.nce(s), { loss_net+: { energies+: ['log_partition'] }, energy_loss: { type: 'partition' } }),

  implicit_ssvm: implicit('ssvm'),
  implicit_dvn: implicit('dvn'),
  implicit_cd: implicit('cd'),
  implicit_compound: implicit('compound'),
  // A few steps of gradient descent on the task loss in the place of its minimum, differentiated as they are.
  unrolled_cd(s): with(primary.cd(s), {
    trainer:: { type: 'implicit_gradient', unroll: { num_steps: 5, step_size: 0.1 } },
  }),
  alternating_ssvm: alternating('ssvm'),
  alternating_dvn: alternating('dvn'),
  alternating_cd: alternating('cd'),
  // The auxiliary loss with a margin, as it is before the cost-augmented and the test-time network are merged into one.
  // It is used with cross-entropy, which the paper's formula does not have: without (`model.task_loss` with
  // `cross_entropy_weight` 0 and `energy_weight` 1), F1 on the sample's validation data is 32 after 25 epochs, and 69
  // with it.
  implicit_cd_margin(s): with($.implicit_cd(s), {
    task_loss+: soft_f1 { type: 'inference_network', perceptron_weight: s.perceptron_weight },
  }),

  // Ablations. In `*_no_ce`, only the energy trains the task-net.
  margin_no_ce(s): dynamic($.margin(s), 0.0),
  regression_no_ce(s): dynamic($.regression(s), 0.0),
  nce_no_ce(s): dynamic($.nce(s), 0.0),
  // The ranking loss on the task-net itself, instead of cross-entropy.
  task_net_ranking(s): function(encoder, energies) {
    task_loss: { type: 'task_net_ranking', num_samples: s.num_samples },
  },
}
