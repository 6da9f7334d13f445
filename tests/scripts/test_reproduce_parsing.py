"""scripts/reproduce.py --suite parsing: its configs, and its scores against those of the metric."""

import pytest

from scripts.measure.suite import all_suites
from scripts.measure.suites import parsing
from seal.tasks.parsing import BracketScore, bracket_counts
from tests.scripts import written_configs
from tests.scripts.written_configs import ROOT, assert_kept, evaluated, settings_of, with_every_argument

SUITES = {name: suite for name, suite in all_suites().items() if suite.family == "parsing"}
#: The loss-net has no encoder of its own here, unless it is asked for.
VALUES = {**written_configs.VALUES, "share_encoder": "false"}
#: The configs of the sample, where they have another name than the method.
FILES = {
    "cross_entropy": "seq2seq",
    "compound_stacked": "stacked",
    "compound_shared": "shared",
    "compound_separated": "separated",
}


@pytest.mark.parametrize("name", ["parsing_sample"])  # Methods are the same on all data.
def test_every_argument_of_a_method_reaches_its_config(name):
    suite = SUITES[name]
    for method in suite.methods:
        more = (("patience", "3"), ("beam", "2"), ("next_word", "false"))
        _, trained, searched, attended = with_every_argument(
            suite, method, parsing.ARGUMENTS.get(method, ()), *more, values=VALUES
        )
        assert trained["trainer"]["patience"] == 3 and searched["model"]["beam"] == 2
        assert attended["model"]["task_net"]["encoder"]["next_word"] is False
    names = parsing.setting_names(suite.dataset, "compound_stacked")
    assert {"perceptron_weight", "energies", "beam", "task_net_lr"} <= set(names)
    assert not {"seed", "epochs"} & set(names)


def test_configs_are_those_of_training_configs():
    suite, kept = SUITES["parsing_sample"], set((ROOT / "training_configs").glob("parsing_*.jsonnet"))
    paths = {name: ROOT / "training_configs" / f"parsing_{FILES.get(name, name)}.jsonnet" for name in suite.methods}
    assert_kept(suite, {name: path for name, path in paths.items() if path in kept})
    assert kept <= set(paths.values())


def test_a_transformer_has_its_own_rates():
    suite = SUITES["parsing_sample"]
    config = evaluated(suite.methods["compound_stacked"].write(settings_of(suite, encoder="a/b")))
    assert config["model"]["task_net"]["encoder"]["source"]["model_name"] == "a/b"
    for player in ("task_net", "loss_net"):
        optimizer = config["trainer"][player]["optimizer"]
        ((patterns, rates),) = optimizer["parameter_groups"]
        assert optimizer["lr"] == 5e-5 and rates == {"lr": 1e-3} and "^loss_net[.]_layer[.]" in patterns[0]


def test_counts_of_trees_sum_to_the_score():
    gold = "(S (NP XX ) (VP XX (NP XX ) ) XX )".split()
    trees = [gold, "(S (NP XX ) (VP XX ) (NP XX ) XX )".split(), "(S XX XX XX XX )".split()]
    tags = "NN VB NN .".split()
    sums = [bracket_counts(tree, gold, tags).sums() for tree in trees]
    total = {name: sum(one[name] for one in sums) for name in sums[0]}
    score = BracketScore()
    score(trees, [gold] * 3, [tags] * 3)
    metrics = score.get_metric()
    for name, statistic in SUITES["parsing_sample"].statistics.items():
        assert float(statistic.value(total)) == pytest.approx(metrics[name])
    # Punctuation alone is no sentence.
    assert bracket_counts(["(NP", "XX", ")"], ["(NP", "XX", ")"], ["."]).sums()["sentence"] == 0
