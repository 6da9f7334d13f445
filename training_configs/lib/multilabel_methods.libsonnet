// How a net is trained, by name. A method is a function of the settings (`multilabel_settings`) and the two nets. It
// returns parts of a config: `model` and, where the method needs them, the trainer's `phases` or other fields of the
// `trainer`.
local choose = import 'choose.libsonnet';
local components = import 'components.libsonnet';
local descent = components.descent;

// Samplers whose candidates do not depend on the task-net that is trained.
local energy_only_sampler = {
  margin(s): descent(s, { objective: 'cost_augmented' }),
  // The two samples of deep value networks: the energy's minimum, and a step from gold towards the worst error. With
  // `search_path`, also gold and all points that the search passes, whose values it follows.
  regression(s): {
    type: 'stack',
    samplers: [
      descent(s, if s.search_path then { keep: 'trajectory' } else {}),
      descent(s, { objective: 'adversarial', start: 'gold', num_steps: 1 }),
    ] + if s.search_path then ['gold'] else [],
  },
  // Draws from the noise net.
  nce(s): { type: 'discrete', num_samples: s.num_samples },
};
local energy_loss = {
  margin: { type: 'margin' },
  regression: { type: 'regression' },
  nce: { type: 'nce_ranking' },
  ranking: { type: 'ranking' },
  partition: { type: 'partition' },
};

local energy_only_loss(s, loss) =
  energy_loss[loss] + if loss == 'regression' && s.search_path then { reduction: 'mean' } else {};

// Energy-only models: they predict by minimizing the energy.
local energy_only(loss) = function(s, task_net, loss_net) {
  model: {
    loss_net: loss_net,
    sampler: energy_only_sampler[loss](s),
    energy_loss: energy_only_loss(s, loss),
    inference: descent(s, {
      keep: 'best',
      [if s.prediction_steps != null then 'num_steps']: s.prediction_steps,
    } + if s.restarts > 1 then { start: 'random', restarts: s.restarts } else {}),
  },
};

local by_cross_entropy(s) = { epochs: s.task_net_epochs, train: 'task_net', energy: false };
// The same after a task-net was trained: by an earlier run, which the setting `task_net_from` names, or by
// cross-entropy in a first phase.
local behind_task_net(loss, phase) = function(s, task_net, loss_net)
  energy_only(loss)(s, task_net, loss_net) + {
    model+: { task_net: task_net { [if s.task_net_from != null then 'pretrained_file']: s.task_net_from } },
    phases:
      (if s.task_net_from == null then [by_cross_entropy(s)] else [])
      + [phase { train: 'loss_net' }],
  };

// SEAL-static: the loss-net is fixed while the task-net is trained. It is that of an earlier run, which the setting
// `loss_net_from` names; without this setting, the run trains the loss-net first.
local static(loss) = function(s, task_net, loss_net) {
  model: {
    task_net: task_net,
    loss_net: loss_net { [if s.loss_net_from != null then 'pretrained_file']: s.loss_net_from },
    sampler: energy_only_sampler[loss](s),
    energy_loss: energy_only_loss(s, loss),
    task_loss: { energy_weight: s.energy_weight },
  },
  phases:
    if s.loss_net_from != null then [{ train: 'task_net' }]
    else if loss == 'nce' then [
      by_cross_entropy(s),
      { epochs: s.loss_net_epochs, train: 'loss_net' },
      { train: 'task_net', restart: true },
    ]
    else [{ epochs: s.loss_net_epochs, train: 'loss_net' }, { train: 'task_net' }],
};

// SEAL-dynamic: both nets are trained.
local dynamic(loss, sampler, cross_entropy_weight=1.0) = function(s, task_net, loss_net) {
  model: {
    task_net: task_net,
    loss_net: loss_net,
    sampler: sampler(s),
    energy_loss: energy_loss[loss],
    task_loss: { energy_weight: s.energy_weight, cross_entropy_weight: cross_entropy_weight },
  },
};
local output(s) = { type: 'task_net_output' };
local draws(s) = { type: 'discrete', num_samples: s.num_samples };
local noisy_output(s) = {
  type: 'gaussian_perturbation',
  num_samples: s.num_samples,
  std: s.noise,
  space: s.noise_space,
  // The clean output is one of the `num_samples`, as in the authors' code.
  include_clean: true,
};

local primary_loss(s) = {
  ssvm: { type: 'margin', cost: { type: 'one_minus', score: { type: 'soft_f1' } } },
  dvn: { type: 'regression' },
  cd: { type: 'contrastive_divergence' },
  // One network in both hinges (Eq. 5).
  compound: {
    type: 'compound',
    cost: { type: 'one_minus', score: { type: 'soft_f1' } },
    perceptron_weight: s.perceptron_weight,
  },
};
local after_task_net(loss, sampler, trainer) = function(s, task_net, loss_net) {
  model: {
    task_net: task_net,
    loss_net: loss_net,
    sampler: sampler(s),
    energy_loss: primary_loss(s)[loss],
    task_loss: { energy_weight: s.energy_weight },
  },
  trainer: trainer(s),
};
local implicit(loss, sampler) =
  after_task_net(loss, sampler, function(s) components.implicit_gradient(s.solver_steps, s.damping));
// The same losses in the same order without the implicit term, to show what that term adds.
local alternating(loss, sampler) = after_task_net(loss, sampler, function(s) { first: 'task_net' });

{
  cross_entropy: function(s, task_net, loss_net) { model: { task_net: task_net } },
  // Structure in prediction: a small energy chooses among the label sets of the training data.
  structured: function(s, task_net, loss_net) {
    model: { task_net: task_net, structure: { type: 'label_sets' } },
    trainer: { folds: s.folds },
  },
  // Learns from inputs without gold, too: those of `data.unlabelled`. What the method `over` has trained says what
  // their labels are, and a second net learns from these and from gold.
  self_training: function(s, task_net, loss_net) $.taught(choose($, s.over, 'method'))(s, task_net, loss_net),
  // The same over any method, by its function.
  taught(over):: function(s, task_net, loss_net)
    over(s, task_net, loss_net) + { trainer+: { self_training: { hard: s.hard, labelled_share: s.labelled_share } } },
  // A net that predicts alone what `structured` predicts with its structure: it learns from gold and from draws of that
  // distribution over whole label sets, on the training data's inputs and those of `data.unlabelled`, if there are any.
  distilled: function(s, task_net, loss_net)
    $.structured(s, task_net, loss_net)
    + { trainer+: { self_training: { distil: true, hard: s.hard, labelled_share: s.labelled_share } } },

  // SEAL, NeurIPS 2022, section 2.3, with gradient-based inference. A SPEN starts from a net that cross-entropy has
  // trained: its authors pretrain it so, and the learning rates of SEAL's authors are too low for an untrained net.
  spen: behind_task_net('margin', { copy_task_net: true }),
  // Trained end to end, through the steps of its inference (Belanger, Yang & McCallum 2017).
  spen_end_to_end: function(s, task_net, loss_net) {
    model: {
      task_net: task_net + components.unrolled(loss_net.energies) {
        num_steps: s.inference_steps,
        step_size: s.step_size,
      },
      task_loss: { type: 'every_step' },
    },
  },
  dvn: energy_only('regression'),
  // The task-net is the noise distribution.
  nce_energy: behind_task_net('nce', {}),

  static_margin: static('margin'),
  static_regression: static('regression'),
  static_nce: static('nce'),

  margin: dynamic('margin', output),
  regression: dynamic('regression', output),
  // Gaussian noise on the task-net's output.
  regression_s: dynamic('regression', noisy_output),
  // Draws from the task-net.
  regression_discrete: dynamic('regression', draws),
  nce: dynamic('nce', draws),
  // SEAL, ICLR 2022 submission, Eq. 10.
  ranking: dynamic('ranking', draws),
  // Maximum likelihood with a learned partition function (Sander et al. 2025).
  partition: function(s, task_net, loss_net)
    dynamic('partition', draws)(s, task_net, loss_net { energies+: ['log_partition'] }),

  // Bi-level training (implicit-training paper): the loss-net's gradient includes its effect on the task-net.
  implicit_ssvm: implicit('ssvm', output),
  implicit_dvn: implicit('dvn', output),
  implicit_cd: implicit('cd', draws),
  implicit_compound: implicit('compound', output),
  // A few steps of gradient descent on the task loss in the place of its minimum, differentiated as they are.
  unrolled_cd: after_task_net(
    'cd', draws, function(s) { type: 'implicit_gradient', unroll: { num_steps: 5, step_size: 0.1 } }
  ),
  alternating_ssvm: alternating('ssvm', output),
  alternating_dvn: alternating('dvn', output),
  alternating_cd: alternating('cd', draws),
  // The auxiliary loss with a margin, as it is before the cost-augmented and the test-time network are merged into one.
  // It is used with cross-entropy, which the paper's formula does not have: without (`model.task_loss` with
  // `cross_entropy_weight` 0 and `energy_weight` 1), F1 on the sample's validation data is 32 after 25 epochs, and 69
  // with it.
  implicit_cd_margin: function(s, task_net, loss_net)
    implicit('cd', draws)(s, task_net, loss_net) + {
      model+: {
        task_loss+: {
          type: 'inference_network',
          cost: { type: 'one_minus', score: { type: 'soft_f1' } },
          perceptron_weight: s.perceptron_weight,
        },
      },
    },

  // Ablations. In `*_no_ce`, only the energy trains the task-net.
  margin_no_ce: dynamic('margin', output, 0.0),
  regression_no_ce: dynamic('regression', output, 0.0),
  nce_no_ce: dynamic('nce', draws, 0.0),
  // The ranking loss on the task-net itself, instead of cross-entropy.
  task_net_ranking: function(s, task_net, loss_net) {
    model: { task_net: task_net, task_loss: { type: 'task_net_ranking', num_samples: s.num_samples } },
  },
}
