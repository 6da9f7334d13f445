// Feature-based multi-label classification: `experiment` puts data, encoder, method and training together.
//
//   multilabel.experiment(
//     data=multilabel.data.bibtex,                             or { train: …, valid: …, reader: {…} }
//     method=multilabel.method_for.bibtex.nce(energy_weight=3),
//     training={ epochs: 100 },                                what is not as the method has it
//   )
//
// `method.nce()` has our defaults, `method_for.bibtex.nce()` the settings of the papers or, where they give none, ours
// (`multilabel_settings`), and `tuned_for.bibtex.nce()` cheaper ones of ours (there, too).
local check = import 'check.libsonnet';
local files = (import 'components.libsonnet').files;
local settings = import 'multilabel_settings.libsonnet';

local mulan(name, more={}) = files('data/' + name + '/%s.arff', 'valid') {
  reader: { label_xml: 'data/%s/%s.xml' % [name, name] } + more,
};
local hierarchical(name, prefix, more={}) = files('data/' + name + '/' + prefix + '.%s.arff', 'valid') {
  // `root`: the papers count it as a label. `standardize`: the features are in different units.
  reader: { root: 'root', standardize: true, statistics_from: 'data/%s/%s.train.arff' % [name, prefix] } + more,
};

(import 'tensors.libsonnet') {
  name:: 'multilabel',
  asked:: 'multilabel.data.sample or { train, valid, test, reader }',
  needed:: ['train', 'valid'],
  known:: $.data.sample { unlabelled: '' },
  table:: import 'multilabel_methods.libsonnet',
  settings_of:: settings.of_papers,

  // Where data sets lie, relative to the working directory, and how they are read.
  data: {
    // Made up, kept in this repository.
    sample: files('data/multilabel_sample/%s.arff', 'valid') {
      reader: { label_xml: 'data/multilabel_sample/labels.xml' },
    },
    bibtex: mulan('bibtex'),
    bookmarks: mulan('bookmarks'),
    delicious: mulan('delicious'),
    // Its first attribute is the protein's name.
    genbase: mulan('genbase', { drop_attributes: ['protein'] }),
    cal500: mulan('cal500'),
    eurlexev: mulan('eurlexev'),
    // Two of its attributes have the same name.
    expr_fun: hierarchical('expr_fun', 'expr_FUN', { repeated_names: 'number' }),
    spo_fun: hierarchical('spo_fun', 'spo_FUN'),
  },

  encoder: {
    // A network over the features. What is not given is as the method has it.
    mlp(hidden_dim=$.unset, num_layers=$.unset, dropout=$.unset): {
      given:: $.given({ hidden_dim: hidden_dim, num_layers: num_layers, dropout: dropout }),
      settings(s):: {
        type: 'feature_mlp',
        hidden_dim: s.hidden_dim,
        num_layers: s.num_layers,
        dropout: std.makeArray(s.num_layers, function(i) if i < s.num_layers - 1 then s.dropout else 0.0),
      },
    },
  },
  default_encoder:: $.encoder.mlp(),

  tuned_for: {
    [set]: { [name]: $.called(name, settings.tuned(set, name)) for name in std.objectFields($.table) }
    for set in std.objectFields($.data)
  },

  // Each label with the input, and all labels together. `patterns` is the number of rows of the latter term's matrix.
  energies(patterns=200): [{ type: 'local' }, { type: 'label_interaction', hidden_dim: patterns }],
  energies_of(s):: $.energies(s.patterns),

  arguments+: { encoder: ['hidden_dim', 'num_layers', 'dropout'], energies: ['patterns'] },

  halved_after:: 5,
  model(d, network, s):: {
    type: 'seal_multilabel',
    output_space: { type: 'label_set' },
    task_net: { encoder: network, bias: false },
  },
  config(d, model, s):: super.config(d, model, s) {
    assert check.from('settings', s, 'restarts', 1),
    dataset_reader: { type: 'seal_multilabel' } + std.get(d, 'reader', {}),
    datasets_for_vocab_creation: ['train'],
    data_loader+: { [if s.batches_per_epoch != null then 'batches_per_epoch']: s.batches_per_epoch },
    validation_data_loader: { type: 'tensors', batch_size: 512 },
    trainer+: {
      validation_metric: '+f1',
      callbacks: ['tune_thresholds'],
      [if s.interleaved then 'interleaved']: true,
      [if s.average_weights != null then 'moving_average']: { type: 'exponential', decay: s.average_weights },
    },
  },
}
