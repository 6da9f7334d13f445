"""scripts/tune.py: what may be chosen, trainings of trials, and searches that are stopped and go on."""

import json
import logging
import os
import re
import sys
from types import SimpleNamespace

import pandas
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.tqdm import logger as progress

pytest.importorskip("optuna", reason="optuna is for measurements: it is in requirements-measure.txt")

import optuna  # noqa: E402

from scripts import tune  # noqa: E402
from scripts.measure import search_spaces, trials  # noqa: E402
from scripts.measure.configs import library_value  # noqa: E402
from scripts.measure.search_spaces import SPACES, Choice, Range  # noqa: E402
from scripts.measure.suite import ROOT  # noqa: E402
from seal.dataset_readers.multilabel import MultilabelReader  # noqa: E402
from tests.scripts.written_configs import evaluated  # noqa: E402

EVERYTHING = library_value(
    "multilabel.libsonnet",
    "local names = std.objectFields; "
    "{ [d]: { [m]: lib.settings(d, m) for m in names(lib.method_for[d]) } for d in names(lib.data) }",
)


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    threads = torch.get_num_threads()
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    yield
    torch.set_num_threads(threads)


def arguments(*more, method="cross_entropy", epochs=1):
    return tune.parser().parse_args(
        ["--dataset", "sample", "--method", method, "--epochs", str(epochs), *map(str, more)]
    )


def command(folder, *more, method="cross_entropy", trials=2, epochs=1):
    storage = folder / "a" / "search.db"
    return tune.main(
        ["--dataset", "sample", "--method", method, "--epochs", str(epochs), "--trials", str(trials)]
        + ["--storage", str(storage), *map(str, more)]
    )


def pasted(line):
    """The config that the printed line makes."""
    path = (ROOT / "training_configs" / "lib" / "multilabel.libsonnet").as_posix()
    return evaluated(f"local multilabel = import '{path}'; {line}")


def last_line(capsys):
    return capsys.readouterr().out.splitlines()[-1]


# Spaces.


def test_every_method_has_a_space_of_its_own_settings():
    # The task-net of `seal` is that of cross-entropy.
    assert set(SPACES) == set(EVERYTHING["sample"]) - {"seal"}
    for methods in EVERYTHING.values():
        for method in SPACES:
            assert set(SPACES[method]) <= set(methods[method])


@pytest.mark.parametrize("dataset, method", [("bibtex", "margin"), ("cal500", "regression_s"), ("sample", "nce")])
def test_the_space_holds_the_configs_own_settings(dataset, method):
    own, space = search_spaces.own_settings(dataset, method), search_spaces.search_space(dataset, method)
    assert own.keys() == space.keys() and len(own) >= 6
    # A net of one layer has no dropout.
    assert ("dropout" in own) == (dataset != "sample")
    for name, value in own.items():
        assert may_be(space[name], value)


def test_what_the_search_of_a_dvn_may_choose_reaches_its_config(tmp_path):
    """Booleans, words and null are jsonnet in a trial's config and in the line to paste."""
    chosen = {"inference_optimizer": "sgd", "search_path": True, "prediction_steps": None, "average_weights": 0.99}
    assert all(value in search_spaces.SPACES["dvn"][name].values for name, value in chosen.items())
    of = SimpleNamespace(dataset="sample", method="dvn", metric="f1", epochs=3, seed=None, held=())
    path = tmp_path / "config.jsonnet"
    path.write_text(tune.Tuning(of, None)._config(chosen, tmp_path), encoding="utf-8")
    config = evaluated(path.read_text(encoding="utf-8"), tmp_path)
    for found in (config, pasted(trials.line_to_paste("sample", "dvn", chosen, "f1", ()))):
        search, *_ = found["model"]["sampler"]["samplers"]
        assert (search["optimizer"], search["keep"]) == ("sgd", "trajectory")
        assert found["model"]["inference"]["num_steps"] == search["num_steps"]
        assert found["trainer"]["moving_average"]["decay"] == 0.99


def may_be(values, value):
    if isinstance(values, Choice):
        return value in values.values
    return values.low <= value <= values.high and not (values.step and (value - values.low) % values.step)


def test_every_configs_own_values_may_be_chosen():
    seen = set()
    for dataset, methods in EVERYTHING.items():
        for method, space in SPACES.items():
            settings = methods[method]
            for name, values in space.items():
                # Null stands for the data set's own.
                if settings[name] is not None:
                    wide = values.with_value(settings[name])
                    assert may_be(wide, settings[name]), (dataset, method, name)
                    assert not isinstance(wide, Range) or not wide.step or may_be(wide, values.low)
                    seen.add(may_be(values, settings[name]))
    assert seen == {True, False}


def test_dropout_that_the_settings_leave_open_is_the_data_sets():
    assert search_spaces.own_settings("bibtex", "cross_entropy")["dropout"] == 0.4


def test_the_first_trials_are_the_configs_own_settings_and_their_neighbours():
    first = search_spaces.first_trials("bibtex", "margin", (("loss_net_lr", "1e-4"),))
    own = first[0]
    assert own == search_spaces.own_settings("bibtex", "margin", (("loss_net_lr", "1e-4"),))
    # A third of the energy weight lies outside its range, since the config's own value is the lower end.
    assert first[1:] == [
        {**own, "energy_weight": pytest.approx(6e-4)},
        {**own, "task_net_lr": pytest.approx(3e-3)},
        {**own, "task_net_lr": pytest.approx(3.33e-4)},
    ]


def test_a_range_is_widened_and_rounds():
    trial = optuna.trial.FixedTrial({"x": 0.123456, "n": 60})
    assert Range(0.1, 1.0).with_value(2.0) == Range(0.1, 2.0)
    assert Range(0.1, 1.0).suggest(trial, "x") == 0.123
    assert Range(20, 100, step=20).suggest(trial, "n") == 60
    assert Range(20, 100, step=20).with_value(60) == Range(20, 100, step=20)
    assert Range(20, 100, step=20).with_value(30) == Range(20, 100, step=10)
    assert Range(20, 100, step=20).with_value(5) == Range(5, 100, step=5)
    assert Range(20, 100, step=20).with_value(120) == Range(20, 120, step=20)
    assert Choice((1, 5, 10)).with_value(6) == Choice((1, 5, 6, 10))


@pytest.mark.parametrize("method, epochs", [("nce", 0), ("static_margin", 30), ("static_nce", 50)])
def test_epochs_before_the_last_phase(method, epochs):
    assert search_spaces.earlier_epochs("sample", method) == epochs


@pytest.mark.parametrize(
    "settings, epochs",
    [("task_net_epochs=5,loss_net_epochs=1", 6), ("loss_net_epochs=1", 21), ("loss_net_from='runs/x'", 0)],
)
def test_settings_that_are_held_may_change_the_phases(settings, epochs):
    given = tune.parser().parse_args(["--dataset", "sample", "--method", "static_nce", "--settings", settings])
    tune.check(given)
    assert search_spaces.earlier_epochs("sample", "static_nce", given.held) == epochs
    assert given.epochs == epochs + 60


# A trial.


class Trial:
    """The part of an Optuna trial that a training uses."""

    number = 0

    def __init__(self, prune_at=None):
        self.prune_at, self.reported, self.user_attrs = prune_at, {}, {}

    def report(self, value, step):
        self.reported[step] = value

    def should_prune(self):
        return self.prune_at in self.reported

    def set_user_attr(self, name, value):
        self.user_attrs[name] = value


def trained(trial, settings, **options):
    return tune.Tuning(arguments(**options), lambda trial, epoch: None).train(trial, settings)


def test_a_trial_is_the_plain_training_of_its_config(tmp_path, monkeypatch, allennlp_logging):
    settings = {"task_net_lr": 5e-3, "num_samples": 3, "batch_size": 100, "energy_weight": 0.5}
    trial = Trial()
    value = trained(trial, settings, method="nce", epochs=2)
    config = pasted(search_spaces.GRID.call("sample", "nce", {**settings, "epochs": 2}))
    monkeypatch.chdir(ROOT)
    train_model(Params(config), str(tmp_path / "plain"))
    epochs = [json.loads((tmp_path / "plain" / f"metrics_epoch_{i}.json").read_text()) for i in range(2)]
    assert trial.reported == {i: metrics["validation_f1"] for i, metrics in enumerate(epochs)}
    assert value == epochs[-1]["best_validation_f1"] == max(trial.reported.values())


def test_a_pruned_trial_ends_at_once_and_leaves_nothing_behind(capfd):
    handlers, level, hook = list(logging.getLogger().handlers), logging.getLogger().level, sys.excepthook
    bars = list(progress.handlers)
    trial = Trial(prune_at=0)
    with pytest.raises(optuna.TrialPruned):
        trained(trial, {"batch_size": 400}, epochs=3)
    assert list(trial.reported) == [0] and trial.user_attrs["epochs"] == 1
    assert (logging.getLogger().handlers, logging.getLogger().level, sys.excepthook) == (handlers, level, hook)
    assert progress.handlers == bars
    assert capfd.readouterr() == ("", "")


def test_only_the_last_phase_counts():
    trial, given = Trial(), arguments("--settings", "loss_net_epochs=1", method="static_regression", epochs=3)
    tune.check(given)
    tune.Tuning(given, lambda trial, epoch: None).train(trial, {"batch_size": 400})
    assert list(trial.reported) == [0, 1] and trial.user_attrs["epochs"] == 3


def test_a_trial_that_diverges_is_pruned():
    trial = Trial()
    with pytest.raises(optuna.TrialPruned):
        trained(trial, {"task_net_lr": 1e38})
    assert trial.user_attrs["end"] == "diverged"


# Searches.


def test_a_search_and_its_next_trial(tmp_path, monkeypatch, capsys):
    read, table = [], MultilabelReader.read_table
    monkeypatch.setattr(
        MultilabelReader, "read_table", lambda self, path: read.append(str(path)) or table(self, path)
    )
    assert command(tmp_path, "--metric", "f1_tuned", "--seed", 3) == 0
    config = pasted(last_line(capsys))
    assert {path.rpartition("/")[2] for path in read} == {"train.arff", "valid.arff"}
    trials = pandas.read_csv(tmp_path / "a" / "search.csv")
    assert sorted(trials["trial"]) == [0, 1] and trials["f1_tuned"].is_monotonic_decreasing
    best, first = trials.iloc[0], trials.set_index("trial").loc[0]
    assert config["trainer"]["validation_metric"] == "+f1_tuned" and config["random_seed"] == 3
    assert config["trainer"]["task_net"]["optimizer"]["lr"] == best["task_net_lr"]
    own = EVERYTHING["sample"]["cross_entropy"]
    assert (first["task_net_lr"], first["weight_decay"]) == (own["task_net_lr"], own["weight_decay"])

    assert command(tmp_path, "--metric", "f1_tuned", "--seed", 3, trials=3) == 0
    more = pandas.read_csv(tmp_path / "a" / "search.csv")
    assert sorted(more["trial"]) == [0, 1, 2]
    pandas.testing.assert_frame_equal(more[more["trial"] < 2].reset_index(drop=True), trials)

    assert command(tmp_path, "--metric", "f1_tuned", "--seed", 4) == 2
    assert "of a search with another seed (3, not 4)" in capsys.readouterr().err


@pytest.fixture
def untrained(monkeypatch):
    """Makes trials return at once; records their settings, and raises the planned errors."""
    seen = SimpleNamespace(settings=[], errors={}, epochs=[])

    def train(self, trial, settings):
        seen.settings.append(settings)
        seen.epochs.append(self._arguments.epochs)
        trial.set_user_attr("settings", settings)
        trial.set_user_attr("epochs", 1)
        if len(seen.settings) - 1 in seen.errors:
            raise seen.errors[len(seen.settings) - 1]
        value = 100 * settings["task_net_lr"]
        trial.report(value, 0)
        return value

    monkeypatch.setattr(tune.Tuning, "train", train)
    return seen


def test_a_trial_that_is_interrupted_comes_again_and_a_pruned_one_counts(tmp_path, untrained, capsys):
    untrained.errors = {2: KeyboardInterrupt(), 4: optuna.TrialPruned()}
    assert command(tmp_path, trials=5) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert command(tmp_path, trials=5) == 0
    assert untrained.settings[3] == untrained.settings[2] and len(untrained.settings) == 6
    assert len({json.dumps(settings) for settings in untrained.settings}) == 5
    ends = pandas.read_csv(tmp_path / "a" / "search.csv")["end"].tolist()
    assert ends == ["complete"] * 4 + ["pruned"]
    # Nothing is left to do.
    assert command(tmp_path, trials=5) == 0 and len(untrained.settings) == 6


def test_a_search_begins_with_the_first_trials_once(tmp_path, untrained):
    first = search_spaces.first_trials("sample", "cross_entropy")
    assert command(tmp_path, trials=2) == command(tmp_path, trials=5) == 0
    assert len(first) == 3 and untrained.settings[:3] == first
    assert len(untrained.settings) == 5 and not any(settings in first for settings in untrained.settings[3:])


def test_a_search_goes_on_with_its_epochs_unless_others_are_given(tmp_path, untrained, capsys):
    search = ["--dataset", "sample", "--method", "static_margin", "--storage", str(tmp_path / "search.db")]
    assert tune.main([*search, "--trials", "1", "--epochs", "60"]) == tune.main([*search, "--trials", "2"]) == 0
    assert untrained.epochs == [60, 60]
    assert tune.main([*search, "--epochs", "90"]) == 2
    assert "of a search with another epochs (60, not 90)" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
@pytest.mark.parametrize("alive", [False, True])
def test_a_search_does_not_end_without_the_trials_of_a_killed_process(alive, tmp_path, untrained, monkeypatch, capsys):
    monkeypatch.setattr(trials, "HEARTBEAT", 1)
    monkeypatch.setattr(trials, "SILENCE", 2)
    about = {"dataset": "sample", "method": "cross_entropy", "metric": "f1", "epochs": 1, "seed": None, "settings": {}}
    (tmp_path / "a").mkdir()
    study = trials.open_study(tmp_path / "a" / "search.db", about, trials=2)
    first = search_spaces.first_trials("sample", "cross_entropy")
    # Another process begins the first trial, and is killed at once or goes on for good.
    with optuna.storages._heartbeat.get_heartbeat_thread(study.ask()._trial_id, study._storage):
        assert not alive or command(tmp_path, trials=2) == 0
    assert alive or command(tmp_path, trials=2) == 0
    own = re.search(r"The config's own settings are (.*?)\. ", capsys.readouterr().out).group(1)
    assert untrained.settings[0] == first[1]
    if alive:
        assert first[0] not in untrained.settings and own == "not among them"
    else:
        assert untrained.settings[-1] == first[0] and own == f"trial {len(untrained.settings)}'s"


def test_the_own_settings_are_tried_before_the_search_ends_when_they_were_interrupted(tmp_path, untrained):
    untrained.errors = {0: KeyboardInterrupt()}
    assert command(tmp_path, trials=2) == 130 and command(tmp_path, trials=2) == 0
    first = search_spaces.first_trials("sample", "cross_entropy")
    assert untrained.settings == [first[0], first[1], first[0]]


def test_where_every_trial_is_pruned(tmp_path, untrained, capsys):
    untrained.errors = {0: optuna.TrialPruned()}
    assert command(tmp_path, trials=1) == 0
    assert "No trial is complete" in capsys.readouterr().out


def test_what_is_held_is_in_every_trial_and_in_none_of_the_choices(tmp_path, monkeypatch, capsys):
    configs = []
    monkeypatch.setattr(
        tune.Tuning,
        "train",
        lambda self, trial, settings: (
            trial.set_user_attr("settings", settings)
            or trial.set_user_attr("epochs", 1)
            or configs.append((settings, self._config(settings, ROOT)))
            or 1.0
        ),
    )
    held = ("--settings", "tuned=true,energy_weight=0.25,task_net_steps=1")
    assert command(tmp_path, *held, method="nce", trials=3) == 0
    for settings, config in configs:
        assert not {"energy_weight", "task_net_steps"} & set(settings) and "loss_net_steps" in settings
        made = evaluated(config, ROOT)
        assert made["model"]["task_loss"]["energy_weight"] == 0.25 and made["trainer"]["task_net"]["steps"] == 1
    assert pasted(last_line(capsys))["model"]["task_loss"]["energy_weight"] == 0.25
    assert command(tmp_path, method="nce", trials=3) == 2
    assert "of a search with another settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, word",
    [
        (["--settings", "energy=1"], "--settings: no setting 'energy'"),
        (["--settings", "num_samples=tagging.whole"], "is not a jsonnet value (Unknown variable: tagging)"),
        (["--settings", "loss_net_from='x'"], "'loss_net_from' changes nothing in what 'nce' trains"),
        (["--method", "static_nce", "--settings", "loss_net_epochs='a'"], "epochs of a phase must be a whole number"),
        (["--settings", "restarts=3"], "--settings: 'restarts' changes nothing in what 'nce' trains"),
        (["--trials", "0"], "--trials"),
        (["--timeout", "0"], "--timeout"),
        (["--method", "static_nce", "--epochs", "50"], "--epochs must be above 50"),
        (["--seed", "-1"], "--seed must be a number from 0 to 4000000, not -1"),
        (["--seed", "4294968"], "--seed must be a number from 0 to 4000000, not 4294968"),
        (["--storage", "README.md"], "--storage"),
        (["--storage", "README.md/a.db"], "README.md is a file, not a folder"),
        (["--storage", "."], "--storage: "),
        (["--storage", "search.csv"], "--storage: 'search.csv' has the ending of a file that is written beside it"),
    ],
)
def test_mistakes_end_in_a_sentence(more, word, tmp_path, capsys, monkeypatch):
    (tmp_path / "README.md").write_text("no data base " * 100)
    monkeypatch.chdir(tmp_path)
    assert tune.main(["--dataset", "sample", "--method", "nce", *more]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and word in message and message.count("\n") == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder in which nothing can be made")
def test_a_storage_that_cannot_be_made_ends_in_a_sentence(capsys):
    assert tune.main(["--dataset", "sample", "--method", "nce", "--storage", "/proc/results/a.db"]) == 2
    assert capsys.readouterr().err.startswith("error: --storage: /proc/results cannot be written to (")


def test_missing_data_ends_in_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tune, "ROOT", tmp_path)
    assert tune.main(["--dataset", "sample", "--method", "nce"]) == 2
    assert "data/multilabel_sample/train.arff is missing" in capsys.readouterr().err


def test_a_missing_optuna_ends_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert tune.main(["--dataset", "sample", "--method", "nce"]) == 2
    assert "requirements-measure.txt" in capsys.readouterr().err
