"""scripts/tune.py: what may be chosen, trainings of trials, and searches that are stopped and go on."""

import json
import logging
import re
import shlex
import sys
import time
from types import SimpleNamespace

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.tqdm import logger as progress

pytest.importorskip("optuna", reason="optuna is for measurements: it is in requirements-measure.txt")

import optuna  # noqa: E402

from scripts import tune  # noqa: E402
from scripts.measure import trials  # noqa: E402
from scripts.measure.search_space import Choice, Range, read_space  # noqa: E402
from scripts.measure.suite import ROOT  # noqa: E402
from seal.tasks.multilabel.reader import MultilabelReader  # noqa: E402
from seal.training import NonFiniteLoss  # noqa: E402

CONFIG = "training_configs/multilabel_cross_entropy.jsonnet"
LR = "trainer.task_net.optimizer.lr"
OWN = 0.002
SPACE = {LR: {"low": 1e-4, "high": 0.1, "log": True}, "data_loader.batch_size": [100, 32]}
FEW = {"trainer.num_epochs": 2, "data_loader.batch_size": 400}
HERE = ROOT / "training_configs" / "search"
SPACES = sorted(HERE.rglob("*.json"))


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.chdir(ROOT)


def command(folder, *more, space=SPACE, number=2, config=CONFIG):
    path = folder / "space.json"
    path.write_text(space if isinstance(space, str) else json.dumps(space))
    storage = ["--storage", str(folder / "a" / "search.db")]
    return tune.main([str(config), "--search", str(path), "--trials", str(number), *storage, *map(str, more)])


# Spaces.


def test_what_a_space_may_choose(tmp_path):
    path = tmp_path / "space.json"
    path.write_text(
        '{"a.b": {"low": 0, "high": 1.0}, "n": {"low": 20, "high": 100, "step": 20}, "c": [null, {"x": 1}]}'
    )
    space = read_space(path)
    assert space == {"a.b": Range(0, 1.0), "n": Range(20, 100, step=20), "c": Choice((None, {"x": 1}))}
    trial = optuna.trial.FixedTrial({"a.b": 0.123456, "n": 60, "c": '{"x": 1}'})
    assert [values.suggest(trial, key) for key, values in space.items()] == [0.123, 60, {"x": 1}]
    assert space["n"].holds(40) and not any(map(space["n"].holds, (30, 40.0, 120, None, True)))
    assert space["a.b"].holds(1) and not space["a.b"].holds(1.1)
    assert space["c"].holds({"x": 1}) and space["c"].parameter(None) == "null" and not space["c"].holds({"x": 2})


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_the_spaces_here_hold_the_settings_of_their_configs(path):
    trained_by = ROOT / "training_configs" / path.relative_to(HERE).with_suffix(".jsonnet")
    config = trials.load(str(trained_by), {}).as_dict(quiet=True)
    for key, values in read_space(path).items():
        assert values.holds(trials.at(config, key)), key


# A trial.


def trained(overrides, config=CONFIG):
    told = {}
    training = trials.Trainings(config, "f1", verbose=False)
    return training.train({**FEW, **overrides}, told.__setitem__), told


def test_a_trial_is_the_plain_training_of_its_config(tmp_path, allennlp_logging):
    overrides = {LR: 5e-3, "model.sampler.num_samples": 3}
    config = "training_configs/multilabel_nce.jsonnet"
    value, told = trained(overrides, config)
    train_model(Params.from_file(config, params_overrides=json.dumps({**FEW, **overrides})), str(tmp_path / "plain"))
    epochs = [json.loads((tmp_path / "plain" / f"metrics_epoch_{i}.json").read_text()) for i in range(2)]
    assert told == {i: metrics["validation_f1"] for i, metrics in enumerate(epochs)}
    assert value == epochs[-1]["best_validation_f1"] == max(told.values())


def test_a_pruned_trial_ends_at_once_and_leaves_nothing_behind(capfd):
    handlers, level, hook = list(logging.getLogger().handlers), logging.getLogger().level, sys.excepthook
    bars = list(progress.handlers)
    seen = []

    def prune(epoch, score):
        seen.append(epoch)
        raise optuna.TrialPruned()

    with pytest.raises(optuna.TrialPruned):
        trials.Trainings(CONFIG, "f1", verbose=False).train(FEW, prune)
    assert seen == [0]
    assert (logging.getLogger().handlers, logging.getLogger().level, sys.excepthook) == (handlers, level, hook)
    assert progress.handlers == bars
    assert capfd.readouterr() == ("", "")


def test_epochs_before_the_last_phase_and_of_folds_do_not_count():
    phases = [{"epochs": 1, "train": "loss_net"}, {"train": "task_net"}]
    overrides = {"trainer.num_epochs": 3, "trainer.phases": phases}
    assert sorted(trained(overrides, "training_configs/multilabel_nce.jsonnet")[1]) == [0, 1]
    seal = "training_configs/multilabel_structured.jsonnet"
    assert sorted(trained({"trainer.num_epochs": 1, "trainer.folds": 2}, seal)[1]) == [0]


def test_test_data_are_not_in_what_is_trained(tmp_path):
    path = tmp_path / "config.json"
    content = {"train_data_path": "a", "validation_data_path": "b", "test_data_path": "c", "evaluate_on_test": True}
    path.write_text(json.dumps({**content, "trainer": {}}))
    assert set(trials.load(str(path), {}).params) == {"train_data_path", "validation_data_path", "trainer"}


# Searches.


def test_a_search_and_its_next_trial(tmp_path, monkeypatch, capsys, allennlp_logging):
    read, table = [], MultilabelReader.read_table
    monkeypatch.setattr(MultilabelReader, "read_table", lambda self, path: read.append(str(path)) or table(self, path))
    options = ("--metric", "f1_tuned", "-o", '{"trainer.num_epochs": 1}')
    assert command(tmp_path, *options) == 0
    told = capsys.readouterr().out
    assert {path.rpartition("/")[2] for path in read} == {"train.arff", "valid.arff"}
    assert "2 trials in sqlite:///" in told and re.search("trial 0, the config itself: f1_tuned [0-9.]+, ", told)

    # The last line trains the best trial, with the same score.
    best = float(re.search(r"^trial .*: f1_tuned (\S+),", told, re.MULTILINE)[1])
    _, _, config, _, _, option, overrides = shlex.split(told.splitlines()[-1])
    assert option == "-o" and overrides in told.splitlines()
    assert json.loads(overrides)["trainer.validation_metric"] == "+f1_tuned"
    train_model(Params.from_file(config, params_overrides=overrides), str(tmp_path / "best"))
    found = json.loads((tmp_path / "best" / "metrics.json").read_text())["best_validation_f1_tuned"]
    assert f"{found:.2f}" == f"{best:.2f}"

    assert command(tmp_path, *options, number=3) == 0
    assert "3 trials in" in capsys.readouterr().out
    assert command(tmp_path, "-o", '{"trainer.num_epochs": 1}', number=3) == 2
    assert "with another config; take another storage" in capsys.readouterr().err


@pytest.fixture
def untrained(monkeypatch):
    """Makes trials return at once; records their settings, and raises the planned errors."""
    seen = SimpleNamespace(settings=[], errors={})

    def train(self, settings, tell):
        seen.settings.append(settings)
        if len(seen.settings) - 1 in seen.errors:
            raise seen.errors[len(seen.settings) - 1]
        tell(0, settings[LR])
        return settings[LR]

    monkeypatch.setattr(trials.Trainings, "train", train)
    monkeypatch.setattr(trials.Trainings, "check", lambda self, overrides: None)
    return seen


def test_a_trial_that_is_interrupted_comes_again_and_a_pruned_one_counts(tmp_path, untrained, capsys):
    untrained.errors = {0: KeyboardInterrupt(), 2: KeyboardInterrupt(), 4: optuna.TrialPruned(), 5: NonFiniteLoss("x")}
    assert command(tmp_path, number=5) == command(tmp_path, number=5) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert command(tmp_path, number=5) == 0
    assert untrained.settings[0] == untrained.settings[1] == {LR: OWN, "data_loader.batch_size": 32}
    assert untrained.settings[3] == untrained.settings[2] and len(untrained.settings) == 7
    told = capsys.readouterr().out
    assert "5 trials in" in told and "2 were pruned" in told and "the config itself" in told
    # Nothing is left to do.
    assert command(tmp_path, number=5) == 0 and len(untrained.settings) == 7


def test_a_search_draws_the_same_again_and_other_values_by_another_seed(tmp_path, untrained):
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        (tmp_path / name).mkdir()
        assert command(tmp_path / name, "--seed", seed, number=7) == 0
    one, two, three = untrained.settings[:7], untrained.settings[7:14], untrained.settings[14:]
    assert one == two and one[0] == three[0] and not any(settings in one for settings in three[1:])


def test_a_score_that_is_to_be_low(tmp_path, untrained, capsys):
    assert command(tmp_path, "--metric=-loss", number=6) == 0
    told = capsys.readouterr().out
    best = float(re.search(r"^trial .*: loss (\S+),", told, re.MULTILINE)[1])
    assert f"{best:.2f}" == f"{min(settings[LR] for settings in untrained.settings):.2f}"
    assert '"trainer.validation_metric": "-loss"' in told


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_trial_whose_process_was_killed_is_repeated(tmp_path, untrained, monkeypatch, capsys):
    monkeypatch.setattr(trials, "HEARTBEAT", 1)
    monkeypatch.setattr(trials, "SILENCE", 2)
    assert command(tmp_path, number=1) == 0
    study = optuna.load_study(study_name="multilabel_cross_entropy_space", storage=trials.storage(database(tmp_path)))
    study.enqueue_trial({LR: 0.05, "data_loader.batch_size": "32"})
    # Another process begins the trial, and is killed at once.
    with optuna.storages._heartbeat.get_heartbeat_thread(study.ask()._trial_id, study._storage):
        pass
    time.sleep(3)
    assert command(tmp_path, number=3) == 0
    assert {LR: 0.05, "data_loader.batch_size": 32} in untrained.settings[1:]


def database(folder):
    return f"{trials.SQLITE}{folder / 'a' / 'search.db'}"


@pytest.mark.parametrize(
    "space, sentence",
    [
        ("{", "space.json"),
        ("[]", "space.json"),
        ({LR: 3}, LR),
        ({LR: {"low": 1, "high": 2, "scale": "log"}}, LR),
        ({LR: {"low": 2, "high": 1}}, "low"),
        ({LR: {"low": 0, "high": 1.0, "log": True}}, "low"),
        ({LR: {"low": 0.1, "high": 1.0, "step": 2}}, "step"),
        ({LR: []}, LR),
        ({LR: [1, 1]}, LR),
        # What only the classes know.
        ({"trainer.task_net.optimizer.lrr": [0.1]}, "lrr"),
        ({"trainer.patience": [3, -1]}, "patience"),
    ],
)
def test_a_mistake_in_a_space_ends_in_a_sentence_at_once(space, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(trials.Trainings, "train", None)
    assert command(tmp_path, space=space) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and sentence in message and message.count("\n") == 1, message


@pytest.mark.parametrize(
    "more, sentence",
    [
        (["--trials", "0"], "--trials"),
        (["--timeout", "0"], "--timeout"),
        (["--seed", "-1"], "--seed"),
        (["--storage", "README.md/a.db"], "README.md"),
        (["--storage", "nosuch://a/b"], "nosuch://a/b"),
        (["--include-package", "nosuch"], "nosuch"),
        (["-o", "{"], "--overrides"),
        (["-o", f'{{"{LR}": 1}}'], LR),
        (["-o", '{"distributed": {"cuda_devices": [-1, -1]}}'], "'distributed'"),
        (["-o", '{"trainer.validation_metric": ["+f1", "+f1_tuned"]}'], "--metric"),
        (["--search", "nosuch.json"], "nosuch.json"),
    ],
)
def test_mistakes_end_in_a_sentence(more, sentence, tmp_path, capsys, untrained):
    assert command(tmp_path, *more) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and sentence in message and message.count("\n") == 1, message
