// Parts of configs that several libraries write alike.
local check = import 'check.libsonnet';

{
  // The files of a data set whose names differ by the split alone; `dev` is the name of the validation file.
  files(pattern, dev='dev'): { [split]: pattern % split for split in ['train', dev, 'test'] },

  seeds(seed): { random_seed: seed, numpy_seed: seed, pytorch_seed: seed },

  // A method, a function of the encoder and the energies, with more of the model, or other parts.
  with(method, more):
    assert check.method(method, 'over');
    function(encoder, energies) method(encoder, energies) + more,

  // Gradient-based inference, by the settings of a method.
  descent(s, more={}): {
    type: 'gradient_based_inference',
    num_steps: s.inference_steps,
    step_size: s.step_size,
    optimizer: s.inference_optimizer,
    start: 'zeros',
  } + more,

  // Without a task-net: `parts` say how the energy is learned and how it predicts.
  energy_alone(parts): function(encoder, energies) {
    task_net:: null,
    loss_net: { encoder: encoder, energies: energies },
  } + parts,

  // Energy alone, trained end to end (Belanger, Yang & McCallum 2017): the net's output is the end of a descent on the
  // energy, whose local term is the net's own layer, and gradients pass through its steps, whose settings are `steps`.
  // Cross-entropy is taken at every step.
  end_to_end(steps, task_loss={}): function(encoder, energies) {
    local is_local(energy) = std.isObject(energy) && energy.type == 'local',
    task_net+: { type: 'unrolled', energies: [energy for energy in energies if !is_local(energy)] } + steps,
    task_loss: { type: 'every_step' } + task_loss,
  },

  // Bi-level training: what a method has for its trainer. It is hidden, as it is not part of the model.
  bi_level(solver_steps, damping, more={}): {
    trainer:: {
      type: 'implicit_gradient',
      solver: { type: 'neumann', max_steps: solver_steps, damping: damping },
    } + more,
  },

  // The settings of a trainer, with those that the method has for it, where the data are `d`.
  trainer(settings, of_method, d): settings + of_method + {
    [if std.objectHas(of_method, 'self_training') then 'self_training']+: check.unlabelled(d, of_method.self_training),
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
}
