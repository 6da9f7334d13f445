// Parts of configs that several libraries write alike.
{
  // Gradient-based inference, by the settings of `multilabel_settings` or `segmentation_settings`.
  descent(s, more={}): {
    type: 'gradient_based_inference',
    num_steps: s.inference_steps,
    step_size: s.step_size,
    optimizer: s.inference_optimizer,
    start: 'zeros',
  } + more,

  // What makes a task-net one that descends an energy of these terms; the local one is the net's own layer.
  unrolled(energies): {
    local is_local(energy) = std.isObject(energy) && energy.type == 'local',
    type: 'unrolled',
    energies: [energy for energy in energies if !is_local(energy)],
  },

  // How a trainer updates the nets that `model` has. `patience` is the number of epochs without a better score after
  // which a learning rate is halved.
  players(s, model, patience):
    local player(lr, steps) = {
      optimizer: { type: 'fused_adamw', lr: lr, weight_decay: s.weight_decay },
      learning_rate_scheduler: { type: 'reduce_on_plateau', mode: 'max', factor: 0.5, patience: patience },
      grad_norm: s.grad_norm,
      steps: steps,
    };
    {
      [if std.objectHas(model, 'task_net') then 'task_net']: player(s.task_net_lr, s.task_net_steps),
      [if std.objectHas(model, 'loss_net') then 'loss_net']: player(s.loss_net_lr, s.loss_net_steps),
    },

  // The trainer of bi-level training.
  implicit_gradient(solver_steps, damping): {
    type: 'implicit_gradient',
    solver: { type: 'neumann', max_steps: solver_steps, damping: damping },
  },
}
