// Constituency parsing as a sequence (Tu, Pang & Gimpel 2020, appendix A.1): `experiment` puts data, encoder, method
// and training together.
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
      // As in the paper, cross-entropy trains the networks before the energy does; null: in half of the epochs.
      warmup_epochs: null,
    },
    sample: self.default { epochs: 20, patience: null },
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
    assert std.isArray(energies) : 'energies: this must be a list of terms';
    sentences.experiment(
      'seal_parsing',
      { type: 'linear_tree' },
      data,
      $.data.sample { reader: {} },
      ['train', 'dev'],
      encoder,
      method,
      energies,
      training,
      $.training.default,
      sentences.rates(2e-3),
    ) {
      local loss_net = std.get(super.model, 'loss_net'),
      model+: {
        beam: beam,
        // Above the vectors that it shares with the task-net, the loss-net has a layer of its own.
        [if loss_net != null && !std.objectHas(loss_net, 'encoder') then 'loss_net']+:
          { layer_dim: encoder.settings.hidden_dim },
      },
    },
}
