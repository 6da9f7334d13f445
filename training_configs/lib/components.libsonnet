// Parts of configs that several libraries write alike.
local check = import 'check.libsonnet';

{
  // A method, a function of the encoder and the energies, with more of the model, or other parts.
  with(method, more):
    assert check.method(method, 'over');
    function(encoder, energies) method(encoder, energies) + more,

  seeds(seed): { random_seed: seed, numpy_seed: seed, pytorch_seed: seed },

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

  // Energy alone, trained end to end (Belanger, Yang & McCallum 2017), by the settings of those tables: a net's output
  // is the start of a descent on an energy, and gradients pass through its steps. `encodes`: with a network of its own.
  end_to_end(s, encodes=false): function(encoder, energies) {
    task_net+: $.unrolled(energies) {
      [if encodes then 'energy_encoder']: encoder,
      num_steps: s.inference_steps,
      step_size: s.step_size,
    },
    task_loss: { type: 'every_step' },
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

  // A run that continues from the finished run of `config` in the folder `run`: it trains the task-net for the least
  // energy on the inputs of a file (Tu, Pang & Gimpel 2020, section 2). The file's labels are not used, but the run has
  // to know them.
  fine_tuned(config, run, inputs, epochs):
    assert std.objectHas(config.model, 'task_net') && std.objectHas(config.model, 'loss_net') :
           'fine_tuned: this tunes a task-net by the energy of a loss-net; the config lacks one of them';
    assert !std.objectHas(config.model, 'structure') :
           'fine_tuned: a structure is learned on labels, and here none are used; take the config without it';
    config {
      train_data_path: inputs,
      vocabulary: { type: 'from_files', directory: run + '/vocabulary' },
      model+: {
        [net]+: { pretrained_file: run }
        for net in ['task_net', 'loss_net', 'cost_augmented_net']
        if std.objectHas(config.model, net)
      },
      // Without the settings of implicit gradients, which train both nets, and of self-training.
      local dropped = [
        'solver',
        'implicit',
        'through',
        'inner_parameters',
        'products',
        'unroll',
        'warm_start',
        'geometry',
        'outer_data_loader',
        'self_training',
      ],
      trainer: {
        [key]: config.trainer[key]
        for key in std.objectFields(config.trainer)
        if !std.member(dropped, key)
      } + { type: 'alternating', num_epochs: epochs, phases: [{ train: 'task_net', supervised: false }] },
    },
  // The same for data that the loader `tensors` takes whole: all of the file's, in the batches of the run.
  fine_tuned_tensors(config, run, inputs, epochs=3):
    $.fine_tuned(config, run, inputs, epochs) {
      data_loader: { type: 'tensors', batch_size: config.data_loader.batch_size, shuffle: true },
    },

  // The trainer of bi-level training.
  implicit_gradient(solver_steps, damping): {
    type: 'implicit_gradient',
    solver: { type: 'neumann', max_steps: solver_steps, damping: damping },
  },
}
