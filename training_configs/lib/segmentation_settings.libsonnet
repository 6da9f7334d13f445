// Hyper-parameters by data set and method. The papers give none; these are ours, and only roughly set: cross-entropy
// from one run on validation data, the others from a look at how their loss-nets start to learn.
local default = {
  epochs: 200,
  patience: 40,
  batch_size: 8,
  energy_weight: 0.1,
  task_net_lr: 1e-3,
  loss_net_lr: 3e-4,
  weight_decay: 1e-5,
  task_net_steps: 1,
  loss_net_steps: 1,
  grad_norm: 10.0,
  // Of the task-net, between its halves; and of the loss-net, before its fully connected layers.
  dropout: 0.0,
  loss_net_dropout: 0.0,
  // Candidates, and the smooth noise that they differ by: in units of logits, in pixels, and how many fields of it.
  num_samples: 10,
  noise: 1.0,
  noise_width: 2.0,
  num_fields: 10,
  straight_through: false,
  // Of gradient-based inference.
  inference_optimizer: 'sgd',
  inference_steps: 10,
  step_size: 5.0,
  adversarial_steps: 1,
  // Whether a regression energy is fitted at gold and at patches of strong noise, too.
  anchors: false,
  // Of the implicit gradient.
  solver_steps: 3,
  damping: 0.1,
  // Whether nets are trained on random crops and predict by averaging over crops; and whether images are mirrored.
  crops: true,
  mirror: true,
  crops_per_side: 6,
  // Of the task-net; and of the loss-net, smooth, since inference follows its slopes.
  activation: 'relu',
  loss_net_activation: 'swish',
  seed: 13,
};

local methods = {
  // Inference takes as long for each crop as many passes of a task-net. Its steps are long: shorter ones end far from
  // the energy's minimum.
  dvn: { crops_per_side: 2, epochs: 100, anchors: true, inference_steps: 20, step_size: 20.0 },
  // Its energies are a few units of size, where cross-entropy is a hundred nats.
  regression: { energy_weight: 10 },
  regression_anchored: { energy_weight: 10, anchors: true },
  regression_s: { energy_weight: 10, num_samples: 6 },
  implicit_cd: { activation: 'swish' },
};

function(dataset, method)
  default
  + (if std.objectHas(methods, method) then methods[method] else {})
  + (if dataset == 'shapes' then { epochs: 40, patience: 15 } else {})
