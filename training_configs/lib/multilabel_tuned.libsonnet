// Settings of ours for a fraction of the papers' cost: one step of each net a batch. Chosen on validation data from a
// handful of runs each (learning rates 1e-3 and the papers', energy weights around the papers').
local lookup = import 'multilabel_lookup.libsonnet';
local one_step = { task_net_steps: 1, loss_net_steps: 1 };
local even = one_step { task_net_lr: 1e-3, loss_net_lr: 1e-3 };
// The energy weight is chosen on bibtex: from 1, 5 and 15 for contrastive divergence, from 1 and 5 for DVN.
local bi_level = even { energy_weight: 5, dropout: 0.5 };
local bi_level_dvn = bi_level { energy_weight: 1 };

// Plain gradient steps, since Adam's first steps have one size for all labels; and candidates all along their path.
// `prediction_steps` is chosen by F1 at 0.5.
local path = {
  loss_net_lr: 1e-3,
  inference_optimizer: 'sgd',
  search_path: true,
  step_size: 0.1,
  inference_steps: 30,
  average_weights: 0.999,
};
// The energy of such a network, and a task-net trained by it.
local path_static(energy_weight) =
  path + one_step { energy_weight: energy_weight, loss_net_epochs: 90, task_net_lr: 1e-3, weight_decay: 1e-5 };

local tuned = {
  bibtex: {
    cross_entropy: { task_net_lr: 1e-3, dropout: 0.5 },
    dvn: path,
    static_regression: path_static(10) { dropout: 0.5 },
    margin: one_step,
    regression: even,
    regression_s: one_step,
    nce: one_step,
    ranking: one_step { energy_weight: 1, loss_net_lr: 1e-3 },
    alternating_ssvm: bi_level,
    implicit_ssvm: bi_level,
    alternating_dvn: bi_level_dvn,
    implicit_dvn: bi_level_dvn,
    alternating_cd: bi_level,
    implicit_cd: bi_level,
  },
  delicious: {
    margin: one_step,
    nce: one_step,
    ranking: even,
    alternating_cd: bi_level { energy_weight: 1 },
    implicit_cd: bi_level { energy_weight: 1 },
  },
  genbase: {
    nce: one_step { task_net_lr: 2e-3 },
    ranking: one_step { task_net_lr: 2e-3 },
    regression: one_step { task_net_lr: 2e-3 },
    regression_s: one_step { task_net_lr: 2e-3 },
    margin: one_step { task_net_lr: 2e-3 },
  },
  expr_fun: {
    cross_entropy: { task_net_lr: 1e-3 },
    dvn: path { prediction_steps: 35 },
    static_regression: path_static(1),
    nce: even { energy_weight: 1 },
    ranking: even,
    regression_s: even,
    margin: one_step,
  },
  spo_fun: {
    dvn: path { prediction_steps: 40 },
    static_regression: path_static(1),
    nce: one_step { energy_weight: 0.1, task_net_lr: 1e-2, loss_net_lr: 1e-3 },
    ranking: one_step { task_net_lr: 1e-2, loss_net_lr: 1e-3 },
    regression_s: one_step,
    margin: one_step,
  },
};

function(dataset, method) lookup(tuned, dataset, method)
