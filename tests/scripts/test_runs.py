"""What happens to a run's model when its scoring ends in an error; nothing is trained here."""

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
    with pytest.raises(RunFailed, match="exit status 1"):
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
    with pytest.raises(RunFailed, match="79.00 .* 80.00"):
        Runner(1).finish(run)
    # Once: the second model was trained from the beginning. Test was not looked at.
    assert trained_again == [run.name] and scorer.seen == [["dev"], ["dev"]]
    assert run.metrics() == {}


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
