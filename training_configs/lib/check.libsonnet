// Checks of what an experiment was given, for use in `assert`: each is true, or an error that names what is wrong.
// Without them, the error would come from somewhere inside a library.
local listed(names) = std.join(', ', names);

{
  // All fields of `given` are fields of `like`: a misspelt one would have no effect. `what` names `given` in the error.
  known(what, given, like):
    local unknown = [name for name in std.objectFieldsAll(given) if !std.objectHasAll(like, name)];
    std.length(unknown) == 0
    || error "%s: there is no '%s'; there are %s" % [what, unknown[0], listed(std.objectFieldsAll(like))],

  // The same for data, which must also have the fields `needed`.
  data(given, like, needed):
    local missing = [name for name in needed if !std.objectHasAll(given, name)];
    if std.length(missing) == 0 then self.known('data', given, like)
    else error "data: '%s' is missing; needed are %s" % [missing[0], listed(needed)],

  // An encoder and a method must be results of calls: an encoder is an object, and a method is a function of the
  // encoder's settings and the energies.
  encoder(given):
    std.isObject(given) || error "encoder: this is none; call one, such as 'encoder.bilstm()' with its parentheses",
  method(given):
    std.isFunction(given) && std.length(given) == 2
    || error "method: this is none; call one, such as 'method.cross_entropy()' with its parentheses",
}
