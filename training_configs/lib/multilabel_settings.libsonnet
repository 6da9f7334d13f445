// Hyper-parameters by data set and method: how `multilabel.method_for` trains, the defaults of `multilabel.method` and,
// at the end, how `multilabel.tuned_for` trains.
//
// energy_weight, num_samples and the learning rates of margin, regression, regression_s, nce and ranking: SEAL, ICLR
// 2022 submission, Tables 4 to 10. What the papers leave out (steps a batch, dropout, weight decay, noise, and
// everything of cross-entropy, of energy-only methods and of the task-nets of static ones): as its authors' published
// configs have it. Where a table has no line, `default` applies. It also applies to the loss-net of a static method,
// which the authors took from an energy-only run; to do so, train the sibling (`dvn` for `static_regression`, `spen`,
// `nce_energy`) and set `loss_net_from` to its folder.
// docs/settings.md says what each setting is.
local default = {
  epochs: 300,
  patience: 20,
  batch_size: 32,
  energy_weight: 1.0,
  task_net_lr: 1e-3,
  loss_net_lr: 1e-3,
  weight_decay: 1e-5,
  task_net_steps: 1,
  loss_net_steps: 1,
  interleaved: false,
  num_samples: 20,
  noise: 1.0,
  noise_space: 'logit',
  anchors: false,
  inference_optimizer: 'adam',
  search_path: false,
  step_size: 0.1,
  inference_steps: 20,
  restarts: 1,
  prediction_steps: null,
  average_weights: null,
  solver_steps: 5,
  damping: 0.1,
  perceptron_weight: 1.0,
  hidden_dim: 400,
  num_layers: 2,
  dropout: 0.4,
  patterns: 200,
  loss_net_epochs: 30,
  task_net_epochs: 20,
  loss_net_from: null,
  task_net_from: null,
  folds: 3,
  over: 'structured',
  hard: false,
  labelled_share: 0.5,
  batches_per_epoch: null,
  grad_norm: 10.0,
  seed: 13,
};
// The nets of the papers (SEAL, ICLR 2022 submission, Table 11; dropout as in its authors' configs).
local net(hidden_dim, num_layers, dropout, patterns) = {
  hidden_dim: hidden_dim,
  num_layers: num_layers,
  dropout: dropout,
  patterns: patterns,
};
local nets = {
  sample: net(200, 1, 0.0, 100),
  bibtex: net(400, 2, 0.4, 200),
  // No paper gives nets for it. It has those of bibtex, which is of the same size.
  bookmarks: net(400, 2, 0.4, 200),
  delicious: net(400, 2, 0.1, 200),
  genbase: net(400, 1, 0.0, 200),
  cal500: net(500, 5, 0.2, 200),
  eurlexev: net(500, 2, 0.1, 200),
  expr_fun: net(200, 4, 0.2, 400),
  spo_fun: net(300, 4, 0.1, 300),
};
// Functions with short names for the columns of the tables.
local seal(energy_weight, num_samples, loss_net_lr, task_net_lr, task_net_steps, loss_net_steps, more={}) = {
  energy_weight: energy_weight,
  [if num_samples != null then 'num_samples']: num_samples,
  loss_net_lr: loss_net_lr,
  task_net_lr: task_net_lr,
  task_net_steps: task_net_steps,
  loss_net_steps: loss_net_steps,
} + more;
local static(energy_weight, task_net_lr, task_net_steps, more={}) = {
  energy_weight: energy_weight,
  task_net_lr: task_net_lr,
  task_net_steps: task_net_steps,
} + more;
local dvn(loss_net_lr, weight_decay, step_size) = {
  loss_net_lr: loss_net_lr,
  weight_decay: weight_decay,
  step_size: step_size,
  inference_steps: 30,
};
local nce_energy(loss_net_lr, num_samples) = { loss_net_lr: loss_net_lr, num_samples: num_samples, restarts: 3 };
// Ours, for a method that the papers tried and give no values for. The energy weight is chosen on validation data by F1
// at 0.5.
local discrete(energy_weight) = seal(energy_weight, 10, 1e-3, 1e-3, 1, 1);

local settings = {
  // Ours, from a few runs on its validation data.
  sample: {
    cross_entropy: { task_net_lr: 2e-3 },
    static_nce: { energy_weight: 0.1, task_net_lr: 2e-3 },
    static_margin: { energy_weight: 0.1, task_net_lr: 2e-3 },
    static_regression: { energy_weight: 0.1, task_net_lr: 2e-3 },
    margin: { energy_weight: 0.1, task_net_lr: 2e-3 },
    regression: { energy_weight: 0.5, task_net_lr: 2e-3 },
    regression_s: { energy_weight: 5, num_samples: 10, task_net_lr: 2e-3 },
    regression_discrete: discrete(20) { task_net_lr: 2e-3 },
    nce: { energy_weight: 5, task_net_lr: 2e-3 },
    ranking: { energy_weight: 1, task_net_lr: 2e-3 },
  },
  genbase: {
    cross_entropy: { task_net_lr: 1.98e-3 },
    spen: { loss_net_lr: 4.23e-4 },
    dvn: dvn(8.46e-4, 2.4e-2, 0.109),
    // Ours: with the published rate, 3.22e-4, training stops before the energy of gold is low (docs/measurements).
    nce_energy: nce_energy(3e-3, 80),
    static_margin: static(0.0336, 2.26e-3, 1),
    static_regression: static(0.454, 1.01e-3, 10, { weight_decay: 2e-3 }),
    static_nce: static(0.00408, 7.95e-4, 10),
    margin: seal(0.001, null, 2e-4, 1e-3, 10, 1),
    regression: seal(0.002, null, 3e-4, 1e-3, 10, 6),
    regression_s: seal(0.03, 20, 4e-4, 1e-3, 10, 3),
    regression_discrete: discrete(0.1) { task_net_lr: 2e-3 },
    nce: seal(0.002, 100, 5e-4, 1e-3, 10, 9),
    ranking: seal(0.002, 100, 1.5e-5, 1e-3, 10, 3),
  },
  cal500: {
    cross_entropy: { task_net_lr: 9.86e-3 },
    spen: { loss_net_lr: 1.08e-5 },
    dvn: dvn(6.52e-5, 8.2e-6, 0.107) { dropout: 0.3 },
    nce_energy: nce_energy(3.54e-3, 100),
    static_margin: static(0.0415, 7.14e-3, 1),
    static_regression: static(0.117, 1.02e-2, 10, { weight_decay: 1.4e-3, dropout: 0.3 }),
    static_nce: static(0.108, 5.6e-3, 10),
    margin: seal(0.001, null, 5e-4, 8e-3, 10, 1),
    regression: seal(1.4, null, 6e-3, 7e-3, 10, 3),
    regression_s: seal(9, 5, 8e-3, 6e-3, 5, 9),
    nce: seal(0.4, 40, 7e-3, 5e-3, 10, 9),
    ranking: seal(8, 80, 3e-3, 1e-4, 5, 6),
  },
  bibtex: {
    cross_entropy: { task_net_lr: 5e-3 },
    spen: { loss_net_lr: 1.7e-5, dropout: 0.5 },
    dvn: dvn(2.19e-4, 5.8e-5, 0.348) { dropout: 0.5 },
    nce_energy: nce_energy(9.19e-4, 80) { dropout: 0.5 },
    static_margin: static(0.00107, 3.53e-3, 1, { dropout: 0.5 }),
    static_regression: static(0.0436, 2.65e-3, 10, { weight_decay: 8.5e-3, dropout: 0.3 }),
    static_nce: static(0.00678, 1.52e-3, 10, { dropout: 0.5 }),
    margin: seal(0.0002, null, 5e-5, 1e-3, 6, 1, { dropout: 0.5 }),
    regression: seal(3, null, 5e-3, 3e-3, 1, 9, { dropout: 0.5 }),
    regression_s: seal(9, 10, 5e-3, 1e-3, 5, 5, { dropout: 0.5 }),
    regression_discrete: discrete(3) { dropout: 0.5 },
    nce: seal(5, 20, 4e-4, 1e-3, 5, 12, { dropout: 0.5 }),
    ranking: seal(9, 40, 5e-5, 1e-3, 10, 9, { dropout: 0.5 }),
  },
  delicious: {
    cross_entropy: { task_net_lr: 2.92e-3 },
    spen: { loss_net_lr: 2.95e-3 },
    dvn: dvn(1.15e-3, 3.9e-3, 0.135) { dropout: 0.0 },
    nce_energy: nce_energy(2.05e-3, 80),
    static_margin: static(0.00137, 5.56e-3, 1, { dropout: 0.5 }),
    static_regression: static(2.51, 1.12e-3, 5, { weight_decay: 4e-3, dropout: 0.0 }),
    static_nce: static(0.00292, 6.3e-4, 5),
    margin: seal(0.0002, null, 2e-3, 4e-3, 1, 1, { dropout: 0.2 }),
    regression: seal(8, null, 1e-4, 1.5e-4, 5, 3, { dropout: 0.5 }),
    regression_s: seal(9, 5, 1e-4, 3e-3, 1, 6, { dropout: 0.5 }),
    regression_discrete: discrete(30) { dropout: 0.5 },
    nce: seal(0.9, 20, 2e-3, 1e-3, 5, 6, { dropout: 0.5 }),
    // As regression of spo_fun.
    ranking: seal(1, 60, 8e-4, 1e-4, 10, 3, { dropout: 0.5, interleaved: true }),
  },
  eurlexev: {
    cross_entropy: { task_net_lr: 5e-3 },
    spen: { loss_net_lr: 1.29e-5 },
    dvn: dvn(1.6e-4, 4e-2, 0.0549) { dropout: 0.2 },
    nce_energy: nce_energy(1.15e-5, 40),
    static_margin: static(0.0042, 4.57e-3, 1),
    static_regression: static(2.43, 3.62e-3, 1, { weight_decay: 1.4e-3, dropout: 0.2 }),
    static_nce: static(0.0712, 3.19e-3, 1),
    margin: seal(0.001, null, 3e-4, 2e-3, 5, 1, { dropout: 0.2 }),
    regression: seal(0.002, null, 6e-4, 4e-3, 5, 6),
    regression_s: seal(0.01, 20, 4e-4, 7e-3, 1, 12),
    nce: seal(0.5, 40, 1e-3, 2e-3, 5, 6),
    ranking: seal(0.3, 40, 3e-4, 2e-3, 5, 9),
  },
  expr_fun: {
    cross_entropy: { task_net_lr: 5e-3 },
    spen: { loss_net_lr: 1.02e-5 },
    dvn: dvn(2.84e-4, 1e-4, 0.573),
    nce_energy: nce_energy(2.37e-4, 100),
    static_margin: static(0.00113, 2.09e-3, 1),
    static_regression: static(0.0265, 1.66e-3, 1, { weight_decay: 1.3e-3 }),
    static_nce: static(0.00137, 1.31e-3, 5),
    margin: seal(0.01, null, 3e-5, 1e-3, 5, 1),
    regression: seal(0.02, null, 3e-4, 6e-4, 5, 9),
    regression_s: seal(2, 30, 7e-3, 2e-3, 5, 9),
    regression_discrete: discrete(30),
    nce: seal(4, 80, 5e-5, 2e-4, 10, 6),
    ranking: seal(1, 40, 8e-3, 5e-4, 5, 6),
  },
  spo_fun: {
    cross_entropy: { task_net_lr: 1e-2 },
    spen: { loss_net_lr: 1.04e-5 },
    dvn: dvn(2.03e-4, 7.5e-4, 0.346) { dropout: 0.3 },
    nce_energy: nce_energy(2.61e-4, 100),
    static_margin: static(0.00508, 1e-2, 1),
    static_regression: static(0.111, 1.65e-3, 10, { weight_decay: 5.9e-4, dropout: 0.3 }),
    static_nce: static(0.0023, 5.69e-3, 1),
    margin: seal(0.08, null, 1e-4, 2e-3, 10, 1, { dropout: 0.2 }),
    // The order of the first SEAL code, with which it gains what the paper says (docs/measurements).
    regression: seal(9, null, 1e-3, 1.5e-4, 5, 12, { interleaved: true }),
    regression_s: seal(0.02, 10, 2e-4, 9e-4, 10, 9, { dropout: 0.2 }),
    regression_discrete: discrete(30),
    nce: seal(0.7, 60, 8e-3, 5e-4, 10, 3),
    ranking: seal(1.5, 40, 4e-3, 2e-3, 5, 3),
  },
};
// Ours, for bi-level training, for which the papers give no values, and for the methods that it is compared with.
local bi_level = { energy_weight: 0.1, task_net_lr: 2e-3 };
// Ours; a SPEN that is trained end to end learns the size of its steps.
local end_to_end = { inference_steps: 5, step_size: 0.5, task_net_lr: 2e-3 };

// Settings of ours for a fraction of the papers' cost: one step of each net a batch. Chosen on validation data from a
// handful of runs each (learning rates 1e-3 and the papers', energy weights around the papers').
local one_step = { task_net_steps: 1, loss_net_steps: 1 };
local even = one_step { task_net_lr: 1e-3, loss_net_lr: 1e-3 };
// The energy weight is chosen on bibtex: from 1, 5 and 15 for contrastive divergence, from 1 and 5 for DVN.
local bi_level_tuned = even { energy_weight: 5, dropout: 0.5 };
local bi_level_dvn = bi_level_tuned { energy_weight: 1 };

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
    // Gold among the candidates is worth 2.8, the lower rate 1.3 (docs/measurements/unlike_the_papers.md).
    regression_s: even { anchors: true },
    nce: one_step,
    ranking: one_step { energy_weight: 1, loss_net_lr: 1e-3 },
    alternating_ssvm: bi_level_tuned,
    implicit_ssvm: bi_level_tuned,
    alternating_dvn: bi_level_dvn,
    implicit_dvn: bi_level_dvn,
    alternating_cd: bi_level_tuned,
    implicit_cd: bi_level_tuned,
  },
  delicious: {
    margin: one_step,
    nce: one_step,
    ranking: even { interleaved: false },
    alternating_cd: bi_level_tuned { energy_weight: 1 },
    implicit_cd: bi_level_tuned { energy_weight: 1 },
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

// The settings of a data set's method in a table. A method without an entry has those of the one it changes, or that
// trains its net; of one without cross-entropy the energy's weight is 1, as in the paper, since a small weight would be
// all that is left.
local parent = {
  margin_no_ce: 'margin',
  regression_no_ce: 'regression',
  nce_no_ce: 'nce',
  task_net_ranking: 'cross_entropy',
  structured: 'cross_entropy',
  distilled: 'cross_entropy',
  self_training: 'cross_entropy',
  partition: 'nce',
};

local lookup(table, dataset, method) =
  local of = if dataset == null then {} else std.get(table, dataset, {});
  local without_cross_entropy = if std.endsWith(method, '_no_ce') then { energy_weight: 1.0 } else {};
  std.get(of, method, std.get(of, std.get(parent, method, method), {}) + without_cross_entropy);

{
  // Without a data set, `dataset` is null: there is then no line of a table.
  of_papers(dataset, method):
    default
    + (if dataset == null then {} else nets[dataset])
    + (if std.startsWith(method, 'implicit_') || std.startsWith(method, 'alternating_') then bi_level else {})
    + (if method == 'spen_end_to_end' then end_to_end else {})
    + lookup(settings, dataset, method),
  tuned(dataset, method): self.of_papers(dataset, method) + lookup(tuned, dataset, method),
}
