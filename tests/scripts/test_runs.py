"""What happens to a run's model when its scoring ends in an error; nothing is trained here."""

import time
from types import SimpleNamespace

import pandas
import pytest
import torch

from scripts import reproduce
from scripts.measure import provenance, results
from scripts.measure.files import read_json, write_json, write_text
from scripts.measure.runner import Runner
from scripts.measure.runs import Run, RunFailed
from scripts.measure.suite import Method, Scores, Suite

REPORTED = 80.0
PATHS = {"train": "a", "test": "its test", "dev": "its dev"}


def write_model(run):
    """Writes what a training leaves of its best model."""
    run.model.mkdir(parents=True)
    write_json(run.model / "config.json", {"validation_data_path": PATHS["dev"], "model": {}})
    epoch = {"training_duration": "0:00:01", "best_validation_f1": REPORTED, "best_epoch": 0}
    write_json(run.model / "metrics_epoch_0.json", epoch)
    torch.save({"weight": torch.arange(2000.0)}, run.model / "best.th")


class Scorer:
    """Reads the weights, as any scorer; `wrong` maps the path of a split to its error or its score."""

    def __init__(self, **wrong):
        self.wrong = {PATHS[split]: value for split, value in wrong.items()}
        self.seen = []

    def __call__(self, folder, splits, packages):
        self.seen.append(list(splits))
        torch.load(folder / "best.th")
        found = {}
        for split, path in splits.items():
            score = self.wrong.get(path, REPORTED)
            if isinstance(score, BaseException):
                raise score
            found[split] = Scores({"f1": score}, pandas.DataFrame({"row": [0]}))
        return found, {"parameters": 3}


def recovered(folder, scorer):
    """A run whose training was resumed after a kill and has ended."""
    suite = Suite(
        name="made_up",
        dataset="here",
        title="made up",
        methods={"nce": Method("NCE", lambda _: "{}\n")},
        data=lambda: dict(PATHS),
        epochs=1,
        metrics={"f1": "F1"},
        key=("row",),
        statistics={},
        score=scorer,
    )
    run = Run(suite, "nce", 1, folder / "made_up-nce-1", "{}\n", 1, ("test", "dev"))
    write_model(run)
    (run.model / "the recovered one").touch()
    write_json(run.folder / "trained.json", {"recovered": True})
    return run


@pytest.fixture
def trained_again(monkeypatch):
    """The trainings that were begun; each leaves a good model."""
    begun = []

    def train(self, run, lock, recover):
        assert not run.model.exists() and not recover
        begun.append(run.name)
        write_model(run)
        return 0

    monkeypatch.setattr(Runner, "_train", train)
    return begun


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize(
    "error", [ValueError("line 7 is malformed"), MemoryError(), RuntimeError("CUDA out of memory")], ids=type
)
def test_an_error_that_is_not_the_models_loses_nothing(split, error, tmp_path, trained_again):
    run = recovered(tmp_path, Scorer(**{split: error}))
    with pytest.raises(RunFailed, match=f"scoring it on {split} failed: {type(error).__name__}"):
        Runner(1).finish(run)
    assert (run.model / "the recovered one").exists() and run.trained and trained_again == []
    assert split in read_json(run.folder / "failed.json")["error"]
    # What could be scored before is kept.
    assert set(run.metrics()) == (set() if split == "dev" else {"dev", "train"})
    # Once the cause of the error is gone, the same model is scored.
    run.suite.score.wrong.clear()
    Runner(1).finish(run)
    assert (run.model / "the recovered one").exists() and trained_again == []
    assert list(run.metrics()) == ["test", "dev", "train"] and not (run.folder / "failed.json").exists()


def test_a_resumed_training_that_fails_keeps_its_checkpoints(tmp_path, monkeypatch):
    run = recovered(tmp_path, Scorer())
    (run.folder / "trained.json").unlink()
    monkeypatch.setattr(provenance, "difference", lambda folder: "")
    state = run.model / "training_state_e1_b0.th"
    state.touch()
    begun, statuses = [], [1, 0]

    def train(self, run, lock, recover):
        begun.append(recover)
        write_text(run.log, "RuntimeError: CUDA out of memory\n")
        return statuses.pop(0)

    monkeypatch.setattr(Runner, "_train", train)
    with pytest.raises(RunFailed, match="memory .exit status 1;.*; to train from the start, delete .*/model"):
        Runner(1).finish(run)
    assert begun == [True] and state.exists()
    Runner(1).finish(run)
    assert begun == [True, True] and run.finished


@pytest.mark.parametrize("kept", [None, 0, 1000, -1])
def test_a_model_whose_weights_are_torn_is_trained_again(kept, tmp_path, trained_again):
    """A file that is not there, and one that was not written to its end."""
    run = recovered(tmp_path, Scorer())
    weights = run.model / "best.th"
    whole = weights.read_bytes()
    weights.unlink()
    if kept is not None:
        weights.write_bytes(whole[:kept])
    Runner(1).finish(run)
    assert trained_again == [run.name] and run.finished


def test_a_model_that_is_not_the_one_reported_is_trained_again(tmp_path, trained_again):
    scorer = Scorer(dev=REPORTED - 1)
    run = recovered(tmp_path, scorer)
    with pytest.raises(RunFailed, match="scores 79.00 on dev, and its training reported 80.00"):
        Runner(1).finish(run)
    # Once: the second model was trained from the beginning. Test was not looked at.
    assert trained_again == [run.name] and scorer.seen == [["dev"], ["dev"]]
    assert run.metrics() == {}


def test_a_failure_that_another_process_takes_away_is_none(tmp_path, monkeypatch):
    for seed in (1, 2):
        failure = {"suite": "made_up", "method": "nce", "seed": seed, "error": "it broke"}
        write_json(tmp_path / "runs" / f"made_up-nce-{seed}" / "failed.json", failure)

    def read(path):
        (tmp_path / "runs" / "made_up-nce-1" / "failed.json").unlink(missing_ok=True)
        return read_json(path)

    monkeypatch.setattr(results, "read_json", read)
    assert [failure.seed for failure in results.failures(tmp_path)] == [2]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_run_that_lacks_a_split_nobody_asks_for_has_not_failed(meanwhile, tmp_path):
    run = recovered(tmp_path / "runs", Scorer(test=ValueError("line 7 is malformed")))
    states = [run.model / f"{kind}_state_e1_b0.th" for kind in ("model", "training")]
    for state in states:
        state.touch()
    with pytest.raises(RunFailed):
        Runner(1).finish(run)
    # With the scores of dev, the checkpoints are not needed any more.
    assert len(results.failures(tmp_path)) == 1 and not any(state.exists() for state in states)
    run.splits = ("dev",)
    if meanwhile:
        Runner(1).finish(run)
    else:
        assert reproduce.run_all([run], jobs=1, threads=1, tell=lambda: None) == {}
    assert run.finished and results.failures(tmp_path) == []


@pytest.mark.parametrize(
    "config, nets",
    [
        ("{ model: {}, trainer: {} }", 1),
        ("{ model: { structure: {} }, trainer: {} }", 4),
        ("{ model: { structure: {} }, trainer: { folds: 5, self_training: {} } }", 7),
        ("{ model: { structure: {} }, trainer: { folds: 0 } }", 1),
        ("{ model: error 'set the model' }", 1),
    ],
)
def test_the_epochs_of_a_run_are_those_of_all_its_nets(tmp_path, config, nets):
    run = Run(SimpleNamespace(name="made_up"), "nce", 1, tmp_path, config, 10, ("dev",))
    assert (run.nets, run.all_epochs, run.done_epochs()) == (nets, 10 * nets, 0)
    for part in ("", "folds/0", "folds/1", "student"):
        (run.model / part).mkdir(parents=True, exist_ok=True)
        (run.model / part / "metrics_epoch_0.json").touch()
    assert run.done_epochs() == 4


def test_the_bar_counts_epochs_and_runs(monkeypatch, tmp_path):
    """The first run has 40 epochs and the second 10: after the first there are 10 of 50 left."""
    told = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.n = total, 0

        def set_description_str(self, text, refresh):
            self.text = text

        def set_postfix_str(self, states):
            told.append((self.n, self.total, self.text, states))

        def close(self):
            pass

    def finish(runner, run):
        run.state = "training"
        time.sleep(1.2)

    monkeypatch.setattr(reproduce, "tqdm", Bar)
    monkeypatch.setattr(Runner, "finish", finish)
    suite = SimpleNamespace(name="made_up", splits=lambda: {"dev": "dev"})
    configs = ["{ model: { structure: {} } }", "{ model: {} }"]
    runs = [Run(suite, "nce", seed, tmp_path / str(seed), text, 10, ("dev",)) for seed, text in enumerate(configs)]
    reproduce.run_all(runs, 1, 1, lambda: None)
    # Between the runs none may be active for a moment.
    shown = [one[:3] for one in told if one[3]]
    assert list(dict.fromkeys(shown)) == [(0, 50, "0 of 2 runs"), (40, 50, "1 of 2 runs")]
    assert told[-1] == (50, 50, "2 of 2 runs", "")
