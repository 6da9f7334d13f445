// Binary segmentation of images: `experiment` puts data, encoder, method and training together.
//
//   segmentation.experiment(
//     data=segmentation.data.weizmann,                         or { train: …, valid: …, size: 64, crop: 48 }
//     method=segmentation.method.nce(energy_weight=1),
//     training=segmentation.training.weizmann { crops: false },
//   )
local files = (import 'components.libsonnet').files;
local settings_of = import 'segmentation_settings.libsonnet';

local npz(name) = files('data/' + name + '/%s.npz', 'valid');

(import 'tensors.libsonnet') {
  name:: 'segmentation',
  asked:: 'segmentation.data.shapes or { train, valid, test, size, crop }',
  needed:: ['train', 'valid'],
  known:: $.data.shapes { resize: null },
  table:: import 'segmentation_methods.libsonnet',
  settings_of:: settings_of,

  // Data sets of images with masks: where they lie, relative to the working directory, and the sizes of their images
  // and of the crops that nets see of them. Where images are of several sizes, there is `resize` in place of `size`:
  // all are brought to that size first, as `resize: 32` or, height and width, `[24, 32]`.
  data: {
    // Made up, kept in this repository.
    shapes: npz('shapes_sample') { size: 32, crop: 24 },
    // As in Gygli et al. 2017 and SEAL: 32 x 32 pixels, of which nets see 24 x 24.
    weizmann: npz('weizmann_horse') { size: 32, crop: 24 },
  },

  encoder: {
    // A fully convolutional network. What is not given is as the method has it.
    convolution(dropout=$.unset, activation=$.unset): {
      given:: $.given({ dropout: dropout, activation: activation }),
      settings(s):: { type: 'fully_convolutional', dropout: s.dropout, activation: s.activation },
    },
    // The convolutions of cGLOW, for whole images: as `convolution`, with the channels at full size and inside a step,
    // and with `depth` steps at each of `levels`.
    coupling(channels=16, width=64, levels=3, depth=2, dropout=$.unset, activation=$.unset): {
      given:: $.given({ dropout: dropout, activation: activation }),
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
  default_encoder:: $.encoder.convolution(),

  // What a data set's training has in place of the defaults and of what a method has.
  training: { [set]: settings_of(set, null) for set in std.objectFields($.data) },

  // An energy of the image and the mask.
  energies(loss_net_dropout=0.0, loss_net_activation='swish'):
    [{ type: 'mask_convolution', dropout: loss_net_dropout, activation: loss_net_activation }],
  energies_of(s):: $.energies(s.loss_net_dropout, s.loss_net_activation),

  arguments+: { encoder: ['dropout', 'activation'], energies: ['loss_net_dropout', 'loss_net_activation'] },

  checked(d, s)::
    assert std.objectHas(d, 'size') || std.objectHas(d, 'resize') :
           "data: set 'size', in pixels a side, or 'resize', to which all images are brought";
    !s.crops || std.objectHas(d, 'crop') || error "training: the data have no 'crop', so 'crops' must be false",

  halved_after:: 10,
  loss_net_encoder(network):: { type: 'image_convolution' },
  model(d, network, s):: {
    local whole = if std.objectHas(d, 'resize') then d.resize else std.get(d, 'size'),
    type: 'seal_segmentation',
    output_space: { type: 'binary_mask', size: if s.crops then std.get(d, 'crop') else whole },
    task_net: { encoder: network },
    crops_per_side: s.crops_per_side,
  },
  config(d, model, s):: super.config(d, model, s) {
    local reader = { type: 'seal_segmentation', [if std.objectHas(d, 'resize') then 'resize']: d.resize },
    // Where there is none, `crop` is null, and not in a config that `experiment` returns.
    dataset_reader: reader { [if s.crops then 'crop']: std.get(d, 'crop'), mirror: s.mirror },
    validation_dataset_reader: reader,
    validation_data_loader: { type: 'tensors', batch_size: 8 },
    trainer+: { validation_metric: '+mean_iou' },
  },
}
