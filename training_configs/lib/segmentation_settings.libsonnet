// Hyper-parameters by method and data set. The papers give none; these are ours, and only roughly set: cross-entropy
// from one run on validation data, the others from a look at how their loss-nets start to learn.
// docs/settings.md says what each setting is.
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
  // `dropout` is that of the task-net, between its halves; `loss_net_dropout` is before the fully connected layers.
  dropout: 0.0,
  loss_net_dropout: 0.0,
  num_samples: 10,
  noise: 1.0,
  noise_width: 2.0,
  num_fields: 10,
  straight_through: false,
  inference_optimizer: 'sgd',
  inference_steps: 10,
  step_size: 5.0,
  adversarial_steps: 1,
  anchors: false,
  solver_steps: 3,
  damping: 0.1,
  crops: true,
  mirror: true,
  crops_per_side: 6,
  activation: 'relu',
  // Smooth, since inference follows the energy's gradient.
  loss_net_activation: 'swish',
  seed: 13,
};

local methods = {
  // Inference takes as long, for each crop, as many passes of a task-net. Its steps are long, since shorter ones end
  // far from the energy's minimum.
  dvn: { crops_per_side: 2, epochs: 150, anchors: true, inference_steps: 20, step_size: 20.0 },
  // It learns the size of its steps; each goes through the energy twice.
  spen_end_to_end: { crops_per_side: 2, inference_steps: 3, step_size: 0.5 },
  // The weight is large because the energies are a few units in size, while cross-entropy is a hundred nats.
  regression: { energy_weight: 10 },
  regression_anchored: { energy_weight: 10, anchors: true },
  regression_s: { energy_weight: 10, num_samples: 6 },
  implicit_cd: { activation: 'swish' },
};

// Without a data set (null): the defaults, with those of the method. Without a method: what the data set has in their
// place.
function(dataset, method)
  (if method == null then {} else default + std.get(methods, method, {}))
  + (if dataset == 'shapes' then { epochs: 40, patience: 15 } else {})
