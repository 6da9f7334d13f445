// The choice of that name, or the names that there are. `what` says what is chosen.
function(choices, name, what)
  if std.objectHas(choices, name) then choices[name]
  else error 'no %s %s; choose from: %s' % [what, name, std.join(', ', std.objectFields(choices))]
