// An ablation has the settings of the method it changes: that method's name, and of others their own.
local parent = {
  margin_no_ce: 'margin',
  regression_no_ce: 'regression',
  nce_no_ce: 'nce',
  regression_discrete: 'regression_s',
  task_net_ranking: 'cross_entropy',
};

function(method) if std.objectHas(parent, method) then parent[method] else method
