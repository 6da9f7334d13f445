// The choice of that name, or an error that lists the names that there are. `what` names, in it, what is chosen.
function(choices, name, what)
  if std.objectHas(choices, name) then choices[name]
  else error 'no %s %s; choose from: %s' % [what, name, std.join(', ', std.objectFields(choices))]
