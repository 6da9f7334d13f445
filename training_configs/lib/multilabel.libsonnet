// Feature-based multi-label classification: `experiment` puts a data set and a method together.
//
//   multilabel.experiment('bibtex', 'nce')
//   multilabel.experiment('bibtex', 'nce', settings={ energy_weight: 3 })
//   multilabel.experiment('bibtex', 'nce', settings={ tuned: true })      ours, cheaper: multilabel_tuned
//   multilabel.experiment('bibtex', 'static_nce', settings={ loss_net_from: 'runs/nce_energy' })
local check = import 'check.libsonnet';
local choose = import 'choose.libsonnet';
local components = import 'components.libsonnet';
local data = import 'multilabel_data.libsonnet';
local methods = import 'multilabel_methods.libsonnet';
local settings_of = import 'multilabel_settings.libsonnet';
local tuned_of = import 'multilabel_tuned.libsonnet';

{
  datasets: std.objectFields(data),
  methods: std.objectFields(methods),
  dataset(name): choose(data, name, 'data set'),
  method(name): choose(methods, name, 'method'),
  // All settings of an experiment: the papers', replaced by ours where `tuned` is set, and by those given.
  settings(dataset, method, settings={}):
    local base = settings_of(dataset, method);
    assert check.known('settings', settings, base);
    assert check.truth('settings', base + settings, 'tuned');
    base + (if (base + settings).tuned then tuned_of(dataset, method) else {}) + settings,

  // `settings` without those that the method does not read there, which `experiment` refuses: for a script that gives
  // several methods the same.
  used(dataset, method, settings):
    check.used(settings, defaults(dataset, method, settings), config(dataset, method)),

  experiment(dataset, method, settings={}):
    local of = config(dataset, method);
    assert check.read(settings, defaults(dataset, method, settings), of, method, dataset);
    of($.settings(dataset, method, settings)),

  // What all settings are without those given: `tuned` may be given for a method that has no such settings.
  local defaults(dataset, method, settings) =
    local all = $.settings(dataset, method, settings);
    $.settings(dataset, method, { tuned: all.tuned }),

  local config(dataset, method) = function(s) {
    local d = $.dataset(dataset),
    local dropout = if s.dropout == null then d.net.dropout else s.dropout,
    local layers = d.net.num_layers,
    assert check.from('settings', s, 'restarts', 1),
    local encoder = {
      type: 'feature_mlp',
      hidden_dim: d.net.hidden_dim,
      num_layers: layers,
      dropout: std.makeArray(layers, function(i) if i < layers - 1 then dropout else 0.0),
    },
    local parts = $.method(method)(
      s,
      { encoder: encoder, bias: false },
      {
        encoder: encoder,
        energies: [{ type: 'local' }, { type: 'label_interaction', hidden_dim: d.net.patterns }],
      },
    ),
    random_seed: s.seed,
    numpy_seed: s.seed,
    pytorch_seed: s.seed,
    dataset_reader: { type: 'seal_multilabel' } + d.reader,
    train_data_path: d.train,
    validation_data_path: d.valid,
    datasets_for_vocab_creation: ['train'],
    model: { type: 'seal_multilabel', output_space: { type: 'label_set' } } + parts.model,
    data_loader: { type: 'tensors', batch_size: s.batch_size, shuffle: true },
    validation_data_loader: { type: 'tensors', batch_size: 512 },
    trainer: {
      type: 'alternating',
      num_epochs: s.epochs,
      patience: s.patience,
      validation_metric: '+f1',
      callbacks: ['tune_thresholds'],
      [if s.average_weights != null then 'moving_average']: { type: 'exponential', decay: s.average_weights },
      [if std.objectHas(parts, 'phases') then 'phases']: parts.phases,
    } + components.players(s, parts.model, patience=5) + std.get(parts, 'trainer', {}),
  },
}
