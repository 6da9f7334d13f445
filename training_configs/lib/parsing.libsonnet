// Constituency parsing as a sequence (Tu, Pang & Gimpel 2020, appendix A.1): `experiment` puts data, encoder, method
// and training together.
local check = import 'check.libsonnet';
local data = import 'parsing_data.libsonnet';
local encoders = import 'parsing_encoders.libsonnet';
local methods = import 'parsing_methods.libsonnet';
local sentences = import 'sentences.libsonnet';

{
  data: data,
  encoder: encoders,
  method: methods,

  // The energy of a tree: each step with its symbol, each symbol with the one before it, and a language model of
  // symbols (Eq. 7 and Eq. 8). Any other terms: `parsing.energies([{ type: 'local' }, ...])`.
  energies(terms=[{ type: 'local' }, { type: 'linear_chain' }, { type: 'tag_language_model' }]): terms,

  // Settings of training. Change one with `parsing.training.sample { epochs: 30 }`.
  training: {
    default: sentences.training {
      epochs: 30,
      patience: 6,
      task_net_lr: 2e-3,
      loss_net_lr: 2e-3,
      // As in the paper, cross-entropy trains the networks before the energy does; null: in half of the epochs.
      warmup_epochs: null,
    },
    sample: self.default { epochs: 20, patience: null },
    // For a pretrained transformer; to be added to other settings:
    // `training=parsing.training.default + parsing.training.transformer`.
    transformer: { task_net_lr: 5e-5, loss_net_lr: 5e-5, head_lr: 1e-3 },
  },

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of dev. The
  // labels of the file are not used. `config` is that of the run.
  //   parsing.fine_tuned(import '../parsing_stacked.jsonnet', 'runs/it', 'data/trees_sample/dev.mrg')
  fine_tuned: sentences.fine_tuned,

  experiment(
    data=error 'set data: parsing.data.sample or { train, dev, test }',
    encoder=error "set encoder: parsing.encoder.bilstm() or parsing.encoder.transformer('NAME')",
    method=error 'set method: parsing.method.cross_entropy() or another',
    training={},
    energies=$.energies(),
    beam=5,
  ):
    local d = check.validation('dev', data);
    assert check.data(d, $.data.sample { reader: {} }, needed=['train', 'dev']);
    assert check.encoder(encoder);
    assert check.method(method);
    assert check.object('training', training);
    assert std.isArray(energies) : 'energies: this must be a list of terms';
    local parts = method(encoder.settings, energies);
    local with_loss_net = std.objectHas(parts, 'loss_net');
    local given = $.training.default + training;
    local all = given {
      [if given.warmup_epochs == null then 'warmup_epochs']:
        if with_loss_net then std.floor(given.epochs / 2) else 0,
    };
    assert check.training(all, $.training.default);
    sentences.experiment(
      d,
      encoder,
      {
        type: 'seal_parsing',
        output_space: { type: 'linear_tree' },
        task_net: { encoder: encoder.settings },
        beam: beam,
      } + parts + {
        // Above the vectors that it shares with the task-net, the loss-net has a layer of its own.
        [if with_loss_net && !std.objectHas(parts.loss_net, 'encoder') then 'loss_net']+:
          { layer_dim: encoder.settings.hidden_dim },
      },
      all,
      validation_metric='+f1',
    ) {
      dataset_reader: { type: 'seal_parsing', token_indexers: encoder.indexers } + std.get(d, 'reader', {}),
    },
}
