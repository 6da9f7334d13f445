// Checks of what an experiment was given, for use in `assert`: each is true, or an error that names what is wrong.
// Without them, the error would come from somewhere inside a library.
local listed(names) = std.join(', ', names);
local not_a_method(given, what) =
  local call = if std.isString(given) then given else 'cross_entropy';
  error "%s: not a method; call one, such as 'method.%s()' with its parentheses" % [what, call];

// Whether the config that `build` makes of the settings `all` changes with another value of one of them: with `other`
// or, as the value may be what is taken without it, with one that is made up.
local changes(build, all, name, other) =
  local config = build(all);
  local value = all[name];
  local made_up =
    if value == null then 1
    else if std.isBoolean(value) then !value
    else if std.isNumber(value) then value + 1
    else if std.isString(value) then value + '_'
    else other;
  value != other && config != build(all { [name]: other }) || config != build(all { [name]: made_up });

{
  // `given` is an object. `what` names it in the error.
  object(what, given):
    std.isObject(given) || error '%s: this must be an object, found %s' % [what, std.manifestJsonMinified(given)],

  // All fields of `given` are fields of `like`: a misspelt one would have no effect. `what` names `given` in the error.
  known(what, given, like):
    assert self.object(what, given);
    local unknown = [name for name in std.objectFieldsAll(given) if !std.objectHasAll(like, name)];
    std.length(unknown) == 0
    || error "%s: there is no '%s'; there are %s" % [what, unknown[0], listed(std.objectFieldsAll(like))],

  // Data whose validation file has the name `own`: 'dev' and 'valid' are both read, in every task.
  validation(own, given):
    local other = if own == 'dev' then 'valid' else 'dev';
    if std.isObject(given) && std.objectHas(given, other) && !std.objectHas(given, own) then
      { [if name == other then own else name]: given[name] for name in std.objectFieldsAll(given) }
    else given,

  // They have the fields `needed`, and no others than those of `like`.
  data(given, like, needed):
    assert self.object('data', given);
    local missing = [name for name in needed if !std.objectHasAll(given, name)];
    if std.length(missing) == 0 then self.known('data', given, like)
    else error "data: '%s' is missing; needed are %s%s" % [
      missing[0],
      listed(needed),
      if missing[0] == 'dev' then "; of one file, train: 'FILE#train', dev: 'FILE#valid' are two parts" else '',
    ],

  // Those fields of `given` that are there, of these names.
  given(given, names): { [name]: given[name] for name in names if std.objectHas(given, name) },

  // What self-training takes of the data: the path of inputs without gold, which distillation can do without.
  unlabelled(given, settings):
    if std.objectHas(given, 'unlabelled') then self.given(given, ['unlabelled', 'plain_text'])
    else if std.get(settings, 'distil', false) then {}
    else error "data: 'unlabelled' is missing, the path of inputs that the method 'self_training' learns from",

  // The settings of training that the libraries themselves calculate with.
  training(given, like):
    assert self.known('training', given, like);
    assert self.object("training: 'task_net_optimizer'", given.task_net_optimizer);
    assert self.object("training: 'loss_net_optimizer'", given.loss_net_optimizer);
    assert !std.objectHas(given.task_net_optimizer, 'lr') : "training: set 'task_net_lr', not an 'lr' of the optimizer";
    assert !std.objectHas(given.loss_net_optimizer, 'lr') : "training: set 'loss_net_lr', not an 'lr' of the optimizer";
    assert !std.isObject(given.scheduler) || std.objectHas(given.scheduler, 'type') :
           "training: 'scheduler' must have a 'type'; null is none";
    assert self.from('training', given, 'warmup_epochs', 0);
    given.warmup_epochs == std.floor(given.warmup_epochs)
    || error "training: 'warmup_epochs' must be a whole number, not %s" % given.warmup_epochs,

  // The names in `given` that have no effect: changing them does not change the config that `build` makes, neither
  // with the other given settings nor with `base` alone. A setting equal to its value in `base` is never idle.
  idle(given, base, build):
    assert self.known('settings', given, base);
    local is_idle(name) =
      given[name] != base[name]
      && !changes(build, base + given, name, base[name])
      && !changes(build, base { [name]: given[name] }, name, base[name]);
    std.filter(is_idle, std.objectFieldsAll(given)),

  // `given` without the idle ones.
  used(given, base, build):
    local idle = self.idle(given, base, build);
    { [name]: given[name] for name in std.objectFields(given) if !std.member(idle, name) },

  // None is idle. `method` says in the error what config it is.
  read(given, base, build, method):
    local idle = self.idle(given, base, build);
    local is_read(name) = changes(build, base + given, name, base[name]);
    std.length(idle) == 0
    || error "settings: '%s' changes nothing for '%s': leave it out; what is read there: %s"
             % [idle[0], method, listed(std.filter(is_read, std.objectFieldsAll(base)))],

  // Settings of training only: none that is an argument of an encoder, of a method or of energies, by the names in
  // `arguments`.
  of_training(given, arguments):
    assert self.object('training', given);
    local owners(name) = [owner for owner in std.objectFields(arguments) if std.member(arguments[owner], name)];
    local misplaced = [name for name in std.objectFieldsAll(given) if std.length(owners(name)) > 0];
    std.length(misplaced) == 0
    || error "training: '%s' is an argument of the %s" % [misplaced[0], owners(misplaced[0])[0]],

  // The settings of training `names`, which `kind` of experiment does not read, are as in `like`.
  unchanged(given, like, names, kind):
    assert self.known('training', given, like);
    local changed = [name for name in names if std.objectHasAll(given, name) && given[name] != like[name]];
    std.length(changed) == 0
    || error "training: '%s' changes nothing in '%s'; leave it out" % [changed[0], kind],

  // A setting is a number that is at least `least`.
  from(what, given, name, least):
    std.isNumber(given[name]) && given[name] >= least
    || error "%s: '%s' must be a number that is at least %d" % [what, name, least],

  // A setting is true or false.
  truth(what, given, name):
    std.isBoolean(given[name])
    || error "%s: '%s' must be true or false, found %s" % [what, name, std.manifestJsonMinified(given[name])],

  // A cost is given by its name.
  cost(given):
    std.isString(given) || error "cost: this must be a name, such as 'l1', found %s" % std.manifestJsonMinified(given),

  // An encoder and a method must be results of calls: an encoder is an object, and a method is a function of the
  // encoder's settings and the energies. `what` is the argument that has it.
  encoder(given):
    std.isObject(given) || error "encoder: not an encoder; call one, such as 'encoder.bilstm()' with its parentheses",
  method(given, what='method'):
    (std.isFunction(given) && std.length(given) == 2) || not_a_method(given, what),
  // The same where a method is an object, since it carries settings.
  called(given, what='method'):
    (std.isObject(given) && std.objectHasAll(given, 'parts')) || not_a_method(given, what),
}
