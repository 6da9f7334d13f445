// The settings of a data set's method in a table. A method without an entry has those of the one it changes, or that
// trains its net; of one without cross-entropy the energy's weight is 1, as in the paper, since a small weight would be
// all that is left.
local parent = {
  margin_no_ce: 'margin',
  regression_no_ce: 'regression',
  nce_no_ce: 'nce',
  task_net_ranking: 'cross_entropy',
  structured: 'cross_entropy',
  distilled: 'cross_entropy',
  self_training: 'cross_entropy',
  partition: 'nce',
};

function(table, dataset, method)
  local of = if dataset == null then {} else std.get(table, dataset, {});
  local without_cross_entropy = if std.endsWith(method, '_no_ce') then { energy_weight: 1.0 } else {};
  std.get(of, method, std.get(of, std.get(parent, method, method), {}) + without_cross_entropy)
