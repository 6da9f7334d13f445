// What tasks share whose data a loader takes whole, feature vectors and images. Each method has settings of its own,
// with those of training. A task is this object with its data, encoders and energies; hidden fields say what else it is:
//
//   name               the task's
//   asked              what data are, in the message where there are none
//   needed, known      fields that data must have, and others that they may have
//   table              the methods by name, each a function of its settings
//   settings_of        a function of a data set, or null, and a method, whose settings it gives
//   default_encoder    that of an experiment that has none
//   energies_of        a function of settings: the energies of an experiment that has none
//   model              a function of data, encoder and settings: what the model has besides the method's parts
//   loss_net_encoder   a function of the encoder
//   halved_after       epochs without a better score after which a learning rate is halved
//   checked            a function of data and settings: true, or an error where they do not go together
//   config             a function of data, model and settings, which adds to `super.config` what the task has besides
local check = import 'check.libsonnet';
local components = import 'components.libsonnet';
local methods = (import 'methods.libsonnet')();

// The value of an argument of an encoder that was not given.
local unset = 'unset';

// A method: a function of the arguments that any method has. What is not given is as in `base`, all settings of the
// method. It gives what `experiment` takes: `parts`, a function of settings, and those that are given.
local called(name, base, method) =
  local of(argument) = std.get(base, argument);
  function(
    energy_weight=of('energy_weight'),
    num_samples=of('num_samples'),
    noise=of('noise'),
    noise_space=of('noise_space'),
    noise_width=of('noise_width'),
    num_fields=of('num_fields'),
    straight_through=of('straight_through'),
    inference_optimizer=of('inference_optimizer'),
    inference_steps=of('inference_steps'),
    prediction_steps=of('prediction_steps'),
    adversarial_steps=of('adversarial_steps'),
    step_size=of('step_size'),
    search_path=of('search_path'),
    restarts=of('restarts'),
    anchors=of('anchors'),
    solver_steps=of('solver_steps'),
    damping=of('damping'),
    perceptron_weight=of('perceptron_weight'),
    loss_net_epochs=of('loss_net_epochs'),
    task_net_epochs=of('task_net_epochs'),
    loss_net_from=of('loss_net_from'),
    task_net_from=of('task_net_from'),
    folds=of('folds'),
    over=of('over'),
    hard=of('hard'),
    labelled_share=of('labelled_share'),
  ) {
    // The method `over` of self-training may be a name; one that is called brings its own settings along.
    local taught = std.objectHas(base, 'over') && !std.isString(over) && check.called(over, 'over'),
    local teaches = taught && name == 'self_training',
    local all = {
      energy_weight: energy_weight,
      num_samples: num_samples,
      noise: noise,
      noise_space: noise_space,
      noise_width: noise_width,
      num_fields: num_fields,
      straight_through: straight_through,
      inference_optimizer: inference_optimizer,
      inference_steps: inference_steps,
      prediction_steps: prediction_steps,
      adversarial_steps: adversarial_steps,
      step_size: step_size,
      search_path: search_path,
      restarts: restarts,
      anchors: anchors,
      solver_steps: solver_steps,
      damping: damping,
      perceptron_weight: perceptron_weight,
      loss_net_epochs: loss_net_epochs,
      task_net_epochs: task_net_epochs,
      loss_net_from: loss_net_from,
      task_net_from: task_net_from,
      folds: folds,
      over: if teaches then of('over') else if taught then over.name else over,
      hard: hard,
      labelled_share: labelled_share,
    },
    name:: name,
    base:: if teaches then over.base else base,
    parts:: if teaches then function(s) method(s { over: over.parts(s) }) else method,
    names:: [argument for argument in std.objectFields(all) if std.objectHas(base, argument)],
    given::
      (if teaches then over.given else {})
      + { [argument]: all[argument] for argument in std.objectFields(all) if all[argument] != of(argument) },
  };

{
  unset:: unset,
  // Those of an encoder's arguments that are given; the others are as the method has them.
  given(values):: { [name]: values[name] for name in std.objectFields(values) if values[name] != unset },
  called(name, base, method=$.table[name]):: called(name, base, method),

  method: { [name]: $.called(name, $.settings_of(null, name)) for name in std.objectFields($.table) } + {
    // A sampler, an energy loss and further settings of the task loss, of your own or of those that are registered.
    own(sampler, energy_loss, energy_weight=$.settings_of(null, 'nce').energy_weight, task_loss={}):
      local method(s) = methods.own(sampler, energy_loss, s.energy_weight, task_loss);
      called('own', $.settings_of(null, 'nce'), method)(energy_weight=energy_weight),
  },
  method_for: {
    [set]: { [name]: $.called(name, $.settings_of(set, name)) for name in std.objectFields($.table) }
    for set in std.objectFields($.data)
  },

  // Which settings are arguments of what; all others are of `training`.
  arguments: { method: $.method.nce().names },

  // All settings of a method on a data set.
  settings(dataset, method, tuned=false): $[if tuned then 'tuned_for' else 'method_for'][dataset][method]().base,

  // `settings` without those that the method does not read there, which `experiment` refuses: for a script that gives
  // several methods the same.
  used(dataset, method, settings, tuned=false):
    local build = $.builder($.data[dataset], $.default_encoder, $.method[method](), null);
    check.used(settings, $.settings(dataset, method, tuned), build),

  // Tunes the task-net of a finished run for the least energy on the inputs of a file, such as those of valid
  // (`components.fine_tuned`). The labels of the file are not used. `config` is that of the run.
  //   multilabel.fine_tuned(import '../multilabel_margin.jsonnet', 'runs/it', 'data/multilabel_sample/valid.arff')
  fine_tuned(config, run, inputs, epochs=3): components.fine_tuned(config, run, inputs, epochs) {
    data_loader: { type: 'tensors', batch_size: config.data_loader.batch_size, shuffle: true },
  },

  experiment(
    data=error 'set data: ' + $.asked,
    encoder=$.default_encoder,
    method=error 'set method: %s.method.nce() or another' % $.name,
    training={},
    energies=null,
  ):
    local d = check.validation('valid', data);
    assert check.data(d, $.known, $.needed);
    assert check.encoder(encoder);
    assert check.called(method);
    assert check.of_training(training, $.arguments);
    local given = method.given + std.get(encoder, 'given', {}) + training;
    local build = $.builder(d, encoder, method, energies);
    assert check.read(given, method.base, build, method.name);
    local all = method.base + given;
    assert $.checked(d, all);
    build(all),

  checked(d, s):: true,
  loss_net_encoder(network):: network,
  // The config of an experiment as a function of its settings.
  builder(d, encoder, method, energies)::
    function(s)
      local network = if std.objectHasAll(encoder, 'settings') then encoder.settings(s) else encoder;
      local terms = if energies == null then $.energies_of(s) else energies;
      $.config(d, $.model(d, network, s) + method.parts(s)($.loss_net_encoder(network), terms), s),
  config(d, model, s):: components.seeds(s.seed) {
    local player(lr, steps) = {
      optimizer: { type: 'fused_adamw', lr: lr, weight_decay: s.weight_decay },
      learning_rate_scheduler: { type: 'reduce_on_plateau', mode: 'max', factor: 0.5, patience: $.halved_after },
      grad_norm: s.grad_norm,
      steps: steps,
    },
    train_data_path: d.train,
    validation_data_path: d.valid,
    model: model,
    data_loader: { type: 'tensors', batch_size: s.batch_size, shuffle: true },
    trainer: components.trainer({
      type: 'alternating',
      num_epochs: s.epochs,
      patience: s.patience,
      [if std.objectHas(model, 'task_net') then 'task_net']: player(s.task_net_lr, s.task_net_steps),
      [if std.objectHas(model, 'loss_net') then 'loss_net']: player(s.loss_net_lr, s.loss_net_steps),
    }, std.get(model, 'trainer', {}), d),
  },
}
