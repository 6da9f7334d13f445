// How a tagger is trained: the methods of every task (`methods`), and more. Each is the part of `model` that it adds;
// what it says of the trainer is in the hidden field `trainer`.
local methods = import 'methods.libsonnet';

methods {
  // The inference-network paper's loss without a margin (Tu, Pang & Gimpel 2020, Eq. 5, second term).
  perceptron(energy_weight=0.1, share_encoder=false):
    function(encoder, energies)
      $.margin(energy_weight=energy_weight, share_encoder=share_encoder)(encoder, energies)
      { energy_loss: { type: 'perceptron' } },

  // Energy alone: margin training and prediction by gradient descent over the simplex of each token. Not by adam, whose
  // first steps are equal for all tags of a token: what is equal is lost in the projection.
  spen(num_steps=10, step_size=0.5, optimizer='sgd', cost='l1'):
    function(encoder, energies) {
      local descent = {
        type: 'gradient_based_inference',
        num_steps: num_steps,
        step_size: step_size,
        optimizer: optimizer,
        start: 'half',
      },
      task_net:: null,
      loss_net: { encoder: encoder, energies: energies },
      sampler: descent { objective: 'cost_augmented', cost: { type: cost } },
      energy_loss: { type: 'margin', cost: { type: cost } },
      inference: descent { keep: 'best' },
    },

  // Bi-level training: contrastive divergence whose gradient counts what the loss-net does to the task-net.
  implicit_cd(num_samples=20, energy_weight=0.1, solver_steps=5, damping=0.1):
    function(encoder, energies)
      $.nce(num_samples=num_samples, energy_weight=energy_weight)(encoder, energies)
      {
        energy_loss: { type: 'contrastive_divergence' },
        trainer:: {
          type: 'implicit_gradient',
          solver: { type: 'neumann', max_steps: solver_steps, damping: damping },
        },
      },
}
