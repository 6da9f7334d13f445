// Binary segmentation of images: `experiment` puts data, encoder, method and training together.
//
//   segmentation.experiment(
//     data=segmentation.data.weizmann,                         or { train: …, valid: …, size: 64, crop: 48 }
//     method=segmentation.method.nce(energy_weight=1),
//     training=segmentation.training.weizmann { crops: false },
//   )
local called = import 'called.libsonnet';
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';
local data_sets = import 'segmentation_data.libsonnet';
local methods = (import 'methods.libsonnet')();
local settings_of = import 'segmentation_settings.libsonnet';
local table = import 'segmentation_methods.libsonnet';

// The value of an argument of an encoder that was not given.
local unset = 'unset';
local given(values) = { [name]: values[name] for name in std.objectFields(values) if values[name] != unset };
local callable(name, like=name, method=table[name]) = called(name, settings_of(null, like), method);

{
  data: data_sets,

  encoder: {
    // A fully convolutional network. What is not given is as the method has it.
    convolution(dropout=unset, activation=unset): {
      given:: given({ dropout: dropout, activation: activation }),
      settings(s):: { type: 'fully_convolutional', dropout: s.dropout, activation: s.activation },
    },
    // The convolutions of cGLOW, for whole images: as `convolution`, with the channels at full size and inside a step,
    // and with `depth` steps at each of `levels`.
    coupling(channels=16, width=64, levels=3, depth=2, dropout=unset, activation=unset): {
      given:: given({ dropout: dropout, activation: activation }),
      settings(s):: {
        type: 'coupling_convolution',
        channels: channels,
        width: width,
        levels: levels,
        depth: depth,
        dropout: s.dropout,
        activation: s.activation,
      },
    },
  },

  method: { [name]: callable(name) for name in std.objectFields(table) } + {
    // A sampler, an energy loss and further settings of the task loss, of your own or of those that are registered.
    own(sampler, energy_loss, energy_weight=0.1, task_loss={}):
      local method(s) = methods.own(sampler, energy_loss, s.energy_weight, task_loss);
      callable('own', 'nce', method)(energy_weight=energy_weight),
  },

  // What a data set's training has in place of the defaults and of what a method has.
  training: { [set]: settings_of(set, null) for set in std.objectFields(data_sets) },

  // An energy of the image and the mask.
  energies(loss_net_dropout=0.0, loss_net_activation='swish'):
    [{ type: 'mask_convolution', dropout: loss_net_dropout, activation: loss_net_activation }],

  // Which settings are arguments of what; all others are of `training`.
  arguments: {
    encoder: ['dropout', 'activation'],
    energies: ['loss_net_dropout', 'loss_net_activation'],
    method: $.method.nce().names,
  },

  // All settings of a method on a data set.
  settings(dataset, method): $.method[method]().base + $.training[dataset],

  // `settings` without those that the method does not read there, which `experiment` refuses: for a script that gives
  // several methods the same.
  used(dataset, method, settings):
    local build = config(data_sets[dataset], $.encoder.convolution(), table[method], null);
    check.used(settings, $.settings(dataset, method), build),

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of valid. The
  // labels of the file are not used. `config` is that of the run.
  //   segmentation.fine_tuned(import '../shapes_nce.jsonnet', 'runs/it', 'data/shapes_sample/valid.npz')
  fine_tuned: components.fine_tuned_tensors,

  experiment(
    data=error 'set data: segmentation.data.shapes or { train, valid, test, size, crop }',
    encoder=$.encoder.convolution(),
    method=error 'set method: segmentation.method.nce() or another',
    training={},
    energies=null,
  ):
    local d = check.validation('valid', data);
    assert check.data(d, $.data.shapes { resize: null }, needed=['train', 'valid']);
    assert std.objectHas(d, 'size') || std.objectHas(d, 'resize') :
           "data: set 'size', in pixels a side, or 'resize', to which all images are brought";
    assert check.encoder(encoder);
    assert check.called(method);
    assert check.of_training(training, $.arguments);
    local all = method.given + std.get(encoder, 'given', {}) + training;
    local build = config(d, encoder, method.parts, energies);
    assert check.read(all, method.base, build, method.name);
    assert !(method.base + all).crops || std.objectHas(d, 'crop') :
           "training: the data have no 'crop', so 'crops' must be false";
    build(method.base + all),

  local config(d, encoder, method, energies) = function(s) components.seeds(s.seed) {
    local resized = std.objectHas(d, 'resize'),
    // null, where there is none, is not in a config that `experiment` returns.
    local crop = std.get(d, 'crop'),
    local reader = { type: 'seal_segmentation', [if resized then 'resize']: d.resize },
    local parts = method(s)(
      { type: 'image_convolution' },
      if energies == null then $.energies(s.loss_net_dropout, s.loss_net_activation) else energies,
    ),
    dataset_reader: reader { [if s.crops then 'crop']: crop, mirror: s.mirror },
    validation_dataset_reader: reader,
    train_data_path: d.train,
    validation_data_path: d.valid,
    model: {
      type: 'seal_segmentation',
      output_space: { type: 'binary_mask', size: if s.crops then crop else if resized then d.resize else d.size },
      task_net: { encoder: if std.objectHasAll(encoder, 'settings') then encoder.settings(s) else encoder },
      crops_per_side: s.crops_per_side,
    } + parts,
    local model = self.model,
    data_loader: { type: 'tensors', batch_size: s.batch_size, shuffle: true },
    validation_data_loader: { type: 'tensors', batch_size: 8 },
    trainer: {
      type: 'alternating',
      num_epochs: s.epochs,
      patience: s.patience,
      validation_metric: '+mean_iou',
    } + components.players(s, model, patience=10) + std.get(parts, 'trainer', {}),
  },
}
