// `given`, if all its fields are fields of `like`: a misspelt one would be read by nothing and change nothing. `what`
// says what is given.
function(what, given, like)
  local unknown = [name for name in std.objectFieldsAll(given) if !std.objectHasAll(like, name)];
  if std.length(unknown) == 0 then given
  else error "%s: there is no '%s'; there are %s" % [what, unknown[0], std.join(', ', std.objectFieldsAll(like))]
