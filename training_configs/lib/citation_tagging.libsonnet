// Fields of citations from few references with tags and many without (implicit-training paper, "Citation Field
// Extraction"). `supervised` trains on the first `labelled` references alone, `semi_supervised` on those and, by
// rewards, on the words of the rest and of those in `data.unlabelled`, if there is such a file.

local check = import 'check.libsonnet';
local components = import 'components.libsonnet';

// The library of tagging, whose data and training have further fields here.
local tagging = (import 'tagging.libsonnet') {
  data+: { sample+: { tags: [] } },
  // `num_labelled` and `num_unlabelled` are the references of each kind in a batch. `batches_per_epoch` is for epochs
  // without unlabelled references, about as many as an epoch with them has.
  training+: {
    default+: {
      epochs: 30,
      patience: 10,
      task_net_lr: 3e-3,
      loss_net_lr: 3e-3,
      num_labelled: 5,
      num_unlabelled: 15,
      batches_per_epoch: 18,
    },
  },
};

{
  // Cora (Seymore et al. 1999). Every tenth reference of the training file is dev. `tags` are listed here, since five
  // references do not contain them all.
  data: {
    cora: {
      train: 'data/cora_citation/ref.train#train',
      dev: 'data/cora_citation/ref.train#valid',
      test: 'data/cora_citation/ref.test',
      reader: { separator: 'blanks', case: true, tokenizer: 'white_space', encoding: null },
      tags: [
        'author',
        'booktitle',
        'date',
        'editor',
        'institution',
        'journal',
        'location',
        'note',
        'pages',
        'publisher',
        'tech',
        'title',
        'volume',
      ],
    },
  },

  encoder: tagging.encoder.bilstm(
    word_dim=50, hidden=50, dropout=0.5, features={ case: 10 }, characters=0
  ),

  // The methods of `tagging`, and two more.
  method: tagging.method {
    // Steps are longer, as references are: each token has a smaller part in the energy of one. Of 0.1, 0.5 and 2, this
    // was the best on dev with 10 labelled references.
    dvn(inference_steps=10, step_size=2.0, inference_optimizer='sgd', adversarial_steps=1):
      tagging.method.dvn(inference_steps, step_size, inference_optimizer, adversarial_steps),

    // `energy_weight` is the lambda of `L_Aux`: 1 was the best of 0.1, 1 and 3 on dev with 10 labelled references.
    // `rounds` and `flips` are settings of the search for a better output. `weights` are those of the reward's rules
    // that differ from their defaults.
    rewarded_cd(num_samples=20, energy_weight=1.0, rounds=10, flips=10, weights={}):
      components.with($.method.nce(num_samples=num_samples, energy_weight=energy_weight), {
        type: 'seal_partly_labelled_tagging',
        energy_loss: { type: 'rewarded_contrastive_divergence' },
        reward: { type: 'citation', weights: weights },
        search: { rounds: rounds, flips: flips },
      }),

    // The same with implicit gradients. Here the curvature is not positive everywhere, so that the solver is one that
    // needs no such curvature: with `neumann`, the others' solver, the accuracy on dev is 2.8 less.
    implicit_rewarded_cd(
      num_samples=20,
      energy_weight=1.0,
      rounds=10,
      flips=10,
      weights={},
      solver_steps=10,
      relative_damping=0.1,
    ):
      components.with($.method.rewarded_cd(num_samples, energy_weight, rounds, flips, weights), {
        trainer:: {
          type: 'implicit_gradient',
          solver: { type: 'minres', max_steps: solver_steps, relative_damping: relative_damping },
        },
      }),
  },

  training: tagging.training.default,
  // Tunes the task-net of a finished run for the least energy on the words of a file; `config` is that of the run.
  //   citations.fine_tuned(import '../cora/semi_supervised.jsonnet', 'runs/it', 'data/cora_citation/ref.train#valid')
  fine_tuned: tagging.fine_tuned,

  // The settings of training that an experiment does not read, since it makes batches in another way.
  unread: { supervised: ['batch_size', 'num_unlabelled'], semi_supervised: ['batch_size', 'batches_per_epoch'] },

  local experiment(data, method, training, kind) =
    assert check.unchanged(training, $.training, $.unread[kind], kind);
    tagging.experiment(data, $.encoder, method, training) {
      local reader = super.dataset_reader,
      validation_dataset_reader: reader,
      vocabulary+: { tokens_to_add: { tags: data.tags } },
    },

  supervised(
    data=$.data.cora,
    labelled=error 'set labelled: how many references have tags, 5, 10 or 50',
    method=error 'set method: citations.method.cross_entropy() or another',
    training=$.training,
  ):
    experiment(data, method, training, 'supervised') {
      dataset_reader+: { max_instances: labelled },
      data_loader: { batch_size: training.num_labelled, shuffle: true, batches_per_epoch: training.batches_per_epoch },
    },

  semi_supervised(
    data=$.data.cora,
    labelled=error 'set labelled: how many references have tags, 5, 10 or 50',
    method=$.method.rewarded_cd(),
    training=$.training,
  ):
    experiment(data, method, training, 'semi_supervised') {
      dataset_reader+: { labelled: labelled } + check.given(data, ['unlabelled', 'plain_text']),
      data_loader: {
        batch_sampler: {
          type: 'partly_labelled',
          num_labelled: training.num_labelled,
          num_unlabelled: training.num_unlabelled,
        },
      },
    },
}
