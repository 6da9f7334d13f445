// Feature-based multi-label classification: `experiment` puts data, encoder, method and training together.
//
//   multilabel.experiment(
//     data=multilabel.data.bibtex,                             or { train: …, valid: …, reader: {…} }
//     method=multilabel.method_for.bibtex.nce(energy_weight=3),
//     training={ epochs: 100 },                                what is not as the method has it
//   )
//
// `method.nce()` has our defaults, `method_for.bibtex.nce()` the settings of the papers or, where they give none, ours
// (`multilabel_settings`), and `tuned_for.bibtex.nce()` cheaper ones of ours (`multilabel_tuned`).
local called = import 'called.libsonnet';
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';
local data_sets = import 'multilabel_data.libsonnet';
local methods = (import 'methods.libsonnet')();
local settings_of = import 'multilabel_settings.libsonnet';
local table = import 'multilabel_methods.libsonnet';
local tuned_of = import 'multilabel_tuned.libsonnet';

// The value of an argument of an encoder that was not given.
local unset = 'unset';
local given(values) = { [name]: values[name] for name in std.objectFields(values) if values[name] != unset };
local callable(name, base, method=table[name]) = called(name, base, method);

{
  data: data_sets,

  encoder: {
    // A network over the features. What is not given is as the method has it.
    mlp(hidden_dim=unset, num_layers=unset, dropout=unset): {
      given:: given({ hidden_dim: hidden_dim, num_layers: num_layers, dropout: dropout }),
      settings(s):: {
        type: 'feature_mlp',
        hidden_dim: s.hidden_dim,
        num_layers: s.num_layers,
        dropout: std.makeArray(s.num_layers, function(i) if i < s.num_layers - 1 then s.dropout else 0.0),
      },
    },
  },

  method: { [name]: callable(name, settings_of(null, name)) for name in std.objectFields(table) } + {
    // A sampler, an energy loss and further settings of the task loss, of your own or of those that are registered.
    own(sampler, energy_loss, energy_weight=1.0, task_loss={}):
      local method(s) = methods.own(sampler, energy_loss, s.energy_weight, task_loss);
      callable('own', settings_of(null, 'nce'), method)(energy_weight=energy_weight),
  },
  method_for: {
    [set]: { [name]: callable(name, settings_of(set, name)) for name in std.objectFields(table) }
    for set in std.objectFields(data_sets)
  },
  tuned_for: {
    [set]: {
      [name]: callable(name, settings_of(set, name) + tuned_of(set, name))
      for name in std.objectFields(table)
    }
    for set in std.objectFields(data_sets)
  },

  // Each label with the input, and all labels together. `patterns` is the number of rows of the latter term's matrix.
  energies(patterns=200): [{ type: 'local' }, { type: 'label_interaction', hidden_dim: patterns }],

  // Which settings are arguments of what; all others are of `training`.
  arguments: {
    encoder: ['hidden_dim', 'num_layers', 'dropout'],
    energies: ['patterns'],
    method: $.method.nce().names,
  },

  // All settings of a method on a data set.
  settings(dataset, method, tuned=false): $[if tuned then 'tuned_for' else 'method_for'][dataset][method]().base,

  // `settings` without those that the method does not read there, which `experiment` refuses: for a script that gives
  // several methods the same.
  used(dataset, method, settings, tuned=false):
    local called = $[if tuned then 'tuned_for' else 'method_for'][dataset][method]();
    check.used(settings, called.base, config(data_sets[dataset], $.encoder.mlp(), called.parts, null)),

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of valid. The
  // labels of the file are not used. `config` is that of the run.
  //   multilabel.fine_tuned(import '../multilabel_margin.jsonnet', 'runs/it', 'data/multilabel_sample/valid.arff')
  fine_tuned: components.fine_tuned_tensors,

  experiment(
    data=error 'set data: multilabel.data.sample or { train, valid, test, reader }',
    encoder=$.encoder.mlp(),
    method=error 'set method: multilabel.method.nce() or another',
    training={},
    energies=null,
  ):
    local d = check.validation('valid', data);
    assert check.data(d, $.data.sample { unlabelled: '' }, needed=['train', 'valid', 'reader']);
    assert check.encoder(encoder);
    assert check.called(method);
    assert check.of_training(training, $.arguments);
    local all = method.given + std.get(encoder, 'given', {}, inc_hidden=true) + training;
    local of = config(d, encoder, method.parts, energies);
    assert check.read(all, method.base, of, method.name);
    of(method.base + all),

  local config(d, encoder, method, energies) = function(s) components.seeds(s.seed) {
    assert check.from('settings', s, 'restarts', 1),
    local network = if std.objectHasAll(encoder, 'settings') then encoder.settings(s) else encoder,
    local parts = method(s)(network, if energies == null then $.energies(s.patterns) else energies),
    local of_method = std.get(parts, 'trainer', {}),
    dataset_reader: { type: 'seal_multilabel' } + d.reader,
    train_data_path: d.train,
    validation_data_path: d.valid,
    datasets_for_vocab_creation: ['train'],
    model: {
      type: 'seal_multilabel',
      output_space: { type: 'label_set' },
      task_net: { encoder: network, bias: false },
    } + parts,
    data_loader: {
      type: 'tensors',
      batch_size: s.batch_size,
      shuffle: true,
      [if s.batches_per_epoch != null then 'batches_per_epoch']: s.batches_per_epoch,
    },
    validation_data_loader: { type: 'tensors', batch_size: 512 },
    local model = self.model,
    trainer: {
      type: 'alternating',
      num_epochs: s.epochs,
      patience: s.patience,
      validation_metric: '+f1',
      callbacks: ['tune_thresholds'],
      [if s.average_weights != null then 'moving_average']: { type: 'exponential', decay: s.average_weights },
    } + components.players(s, model, patience=5) + of_method + {
      [if std.objectHas(of_method, 'self_training') then 'self_training']+:
        check.unlabelled(d, of_method.self_training),
    },
  },
}
