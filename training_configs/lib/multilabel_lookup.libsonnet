// The settings of a data set's method in a table. An ablation without an entry has those of the method it changes.
local parent = {
  margin_no_ce: 'margin',
  regression_no_ce: 'regression',
  nce_no_ce: 'nce',
  task_net_ranking: 'cross_entropy',
};

function(table, dataset, method)
  local of = std.get(table, dataset, {});
  std.get(of, method, std.get(of, std.get(parent, method, method), {}))
