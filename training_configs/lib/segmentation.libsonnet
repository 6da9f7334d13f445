// Binary segmentation of images: `experiment` puts a data set and a method together.
//
//   segmentation.experiment('weizmann', 'nce')
//   segmentation.experiment('weizmann', 'nce', settings={ energy_weight: 1, crops: false })
local check = import 'check.libsonnet';
local choose = import 'choose.libsonnet';
local components = import 'components.libsonnet';
local data = import 'segmentation_data.libsonnet';
local methods = import 'segmentation_methods.libsonnet';
local settings_of = import 'segmentation_settings.libsonnet';

{
  datasets: std.objectFields(data),
  methods: std.objectFields(methods),
  dataset(name): choose(data, name, 'data set'),
  method(name): choose(methods, name, 'method'),
  settings: settings_of,

  // `settings` without those that the method does not read there, which `experiment` refuses: for a script that gives
  // several methods the same.
  used(dataset, method, settings):
    check.used(settings, settings_of(dataset, method), config(dataset, method)),

  experiment(dataset, method, settings={}):
    local base = settings_of(dataset, method);
    local of = config(dataset, method);
    assert check.read(settings, base, of, method, dataset);
    assert !(base + settings).crops || std.objectHas($.dataset(dataset), 'crop') :
           "settings: '%s' has no 'crop', so 'crops' must be false" % dataset;
    of(base + settings),

  local config(dataset, method) = function(s) {
    local d = $.dataset(dataset),
    local resized = std.objectHas(d, 'resize'),
    // null, where there is none, is not in a config that `experiment` returns.
    local crop = std.get(d, 'crop'),
    local reader = { type: 'seal_segmentation', [if resized then 'resize']: d.resize },
    local parts = $.method(method)(
      s,
      { encoder: { type: 'fully_convolutional', dropout: s.dropout, activation: s.activation } },
      {
        encoder: { type: 'image_convolution' },
        energies: [{ type: 'mask_convolution', dropout: s.loss_net_dropout, activation: s.loss_net_activation }],
      },
    ),
    random_seed: s.seed,
    numpy_seed: s.seed,
    pytorch_seed: s.seed,
    dataset_reader: reader { [if s.crops then 'crop']: crop, mirror: s.mirror },
    validation_dataset_reader: reader,
    train_data_path: d.train,
    validation_data_path: d.valid,
    model: {
      type: 'seal_segmentation',
      output_space: { type: 'binary_mask', size: if s.crops then crop else if resized then d.resize else d.size },
      crops_per_side: s.crops_per_side,
    } + parts.model,
    data_loader: { type: 'tensors', batch_size: s.batch_size, shuffle: true },
    validation_data_loader: { type: 'tensors', batch_size: 8 },
    trainer: {
      type: 'alternating',
      num_epochs: s.epochs,
      patience: s.patience,
      validation_metric: '+mean_iou',
    } + components.players(s, parts.model, patience=10) + std.get(parts, 'trainer', {}),
  },
}
