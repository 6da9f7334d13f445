// A method whose settings are in a table: a function of the arguments that any such method has. What is not given is as
// in `base`, all settings of the method. It gives what `experiment` takes: `method`, a function of settings, and those
// that are given.
local check = import 'check.libsonnet';

function(name, base, method)
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
  }
