"""scripts/reproduce.py: its statistics and tables against slow ones, and whole runs on a little data."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pandas
import pytest
import torch
from allennlp.training.checkpointer import Checkpointer

from scripts import reproduce
from scripts.measure import configs, provenance, results
from scripts.measure.command import Stopped
from scripts.measure.files import locked, read_json, write_gzip, write_json, write_text
from scripts.measure.runner import Runner, epoch_seconds, first_epochs
from scripts.measure.suite import Method, Settings, UserError, all_suites
from tests.forked import Forked
from tests.scripts.trained_here import trained_here
from tests.scripts.written_configs import ROOT, evaluated
from tests.training.runs import build

TINY = ["--suite", "srl_sample", "--seeds", "1", "--epochs", "3", "--fraction", "0.02"]
TINY += ["--overrides", '{"validation_dataset_reader.fraction": 0.05}']

SUITES = all_suites()


# Statistics and files.


def test_f1_and_ucr_are_those_of_the_counts():
    statistics = SUITES["srl_sample"].statistics
    # Precision 3/4, recall 1/2.
    assert statistics["f1"].value({"correct": 6, "predicted": 8, "gold": 12}) == pytest.approx(60)
    assert statistics["ucr"].value({"duplicate": 3, "frame": 12}) == pytest.approx(25)


def test_epoch_seconds_start_again_after_a_kill():
    durations = ["0:00:10", "0:00:25.5", "0:00:04", "0:00:12", "1 day, 0:00:12"]
    epochs = [{"training_duration": duration} for duration in durations]
    assert epoch_seconds(epochs) == [10, 15.5, 4, 8, 86400]
    # An epoch that took longer than all before the kill does not show it.
    assert epoch_seconds(epochs, first={0, 1}) == [10, 25.5, 4, 8, 86400]


def test_archives_of_the_same_frames_are_the_same_bytes(tmp_path, monkeypatch):
    for process in (12, 3456):
        monkeypatch.setattr(os, "getpid", lambda: process)
        write_gzip(tmp_path / f"{process}.csv.gz", "a,b\n1,ä\n")
    assert (tmp_path / "12.csv.gz").read_bytes() == (tmp_path / "3456.csv.gz").read_bytes()
    assert pandas.read_csv(tmp_path / "12.csv.gz").to_dict("list") == {"a": [1], "b": ["ä"]}


# Configs.


@pytest.mark.parametrize("method", ["cross_entropy", "crf", "margin", "ranking", "nce"])
@pytest.mark.parametrize("name, prefix", [("srl_sample", "srl_"), ("srl_ewt", "ewt_srl/")])
def test_configs_are_those_of_training_configs(name, prefix, method):
    suite = SUITES[name]
    encoder = "bert-base-uncased" if suite.encoder else None
    settings = Settings(seed=13, epochs=suite.epochs, fraction=1.0, encoder=encoder)
    # The sample's `srl_nce` has structure, too.
    config = "nce_as_a_loss" if name == "srl_sample" and method == "nce" else method
    path = ROOT / "training_configs" / f"{prefix}{config}.jsonnet"
    assert evaluated(suite.methods[method].write(settings)) == evaluated(path.read_text(encoding="utf-8"), path.parent)


def test_structured_tuning_over_the_crf(tmp_path, monkeypatch):
    """As SEAL's table has it. The config loads, and the price is on what the CRF expects, not on single tokens."""
    monkeypatch.chdir(ROOT)
    method = SUITES["srl_sample"].methods["structured_tuning_crf"]
    more = (("weight", "2.5"), ("roles", "['ARG1']"), ("hidden", "5"))
    settings = Settings(seed=13, epochs=1, fraction=0.02, encoder=None, more=more)
    trainer = build(evaluated(method.write(settings)), tmp_path)
    model = trainer.model
    batch = next(iter(trainer.data_loader))
    state = model.task_state(**batch)
    begins = model.vocab.get_token_index("B-ARG1", "srl_tags")
    logits = state.logits.detach()
    logits[..., begins] += 5
    free = model.output_space.cross_entropy(logits, state.gold, state.mask)
    priced = model.task_loss.supervised(model.output_space, logits, state.gold, state.mask)
    expected = model.output_space.chain(logits, state.mask).marginals()[..., begins].sum(dim=1)
    assert bool((expected > 1).all())
    assert torch.allclose(priced - free, 2.5 * (expected - 1), atol=1e-3)


def test_a_price_for_crossing_arguments(tmp_path, monkeypatch):
    """The frames of a sentence, which it is about, are in one batch."""
    monkeypatch.chdir(ROOT)
    settings = Settings(seed=13, epochs=1, fraction=0.05, encoder=None, more=(("weight", "2.5"), ("hidden", "5")))
    trainer = build(evaluated(SUITES["srl_sample"].methods["uncrossed_crf"].write(settings)), tmp_path)
    losses = [trainer.model.task_state(**batch).auxiliary_losses["crossing_loss"] for batch in trainer.data_loader]
    assert sum(loss > 0 for loss in losses) > len(losses) / 2


def test_overrides_keep_what_is_beside_them():
    config = "{ a: { b: 1, c: 2 }, d: [1] }"
    overrides = {"a.b": 5, "a.e.f": {"g": None}, "d": [2, 3], "h-i": "x"}
    assert evaluated(configs.with_overrides(config, overrides)) == {
        "a": {"b": 5, "c": 2, "e": {"f": {"g": None}}},
        "d": [2, 3],
        "h-i": "x",
    }
    assert configs.overrides_of("nce", {"a": 1, "nce:b.c": 2, "crf:d": 3}) == {"a": 1, "b.c": 2}
    for wrong in ({"a": 1, "a.b": 2}, {"a.0.b": 1}):
        with pytest.raises(UserError):
            configs.with_overrides(config, wrong)


# The user's mistakes.


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--suite", "srl_sampel"], ["srl_sampel", "srl_sample"]),
        (["--suite", "srl_sample", "--methods", "nce,crff"], ["crff", "crf"]),
        (["--suite", "srl_ewt"], ["--encoder", "requirements-measure.txt"]),
        (["--suite", "srl_sample", "--encoder", "x"], ["--encoder"]),
        (["--suite", "srl_sample", "--fraction", "0"], ["--fraction"]),
        (["--suite", "srl_sample", "--jobs", "0"], ["--jobs"]),
        (["--suite", "srl_sample", "--seeds", "5-4"], ["--seeds"]),
        (["--suite", "srl_sample", "--methods", ","], ["--methods"]),
        (["--suite", "srl_sample", "--splits", ","], ["--splits"]),
        (["--suite", "srl_sample", "--overrides", "{"], ["--overrides"]),
        (["--suite", "srl_sample", "--settings", "a=1,a=2"], ["--settings"]),
        (["--suite", "srl_sample", "--settings", "max_length=3"], ["max_length"]),
        (["--suite", "tagging", "--encoder", "a/b", "--settings", "hidden=5"], ["hidden"]),
        (["--suite", "text", "--settings", "task_net_lr=tagging.training.sample.task_net_lr"], ["tagging"]),
        (["--suite", "srl_sample", "--out", __file__], ["test_reproduce.py"]),
        (["--suite", "srl_sample", "--overrides", '{"nse:a": 1}'], ["nse", "nce"]),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, words, tmp_path, capsys):
    assert reproduce.main(["--out", str(tmp_path), *arguments]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    assert all(word in message for word in words)
    assert not list(tmp_path.iterdir())


# Whole runs.


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of two methods that were never interrupted."""
    out = tmp_path_factory.mktemp("whole")
    with trained_here():
        assert reproduce.main([*TINY, "--methods", "cross_entropy,crf", "--out", str(out)]) == 0
    return out


def test_results_of_a_suite(whole):
    table = pandas.read_csv(whole / "results.csv")
    assert list(table.columns) == results.COLUMNS
    assert set(table["method"]) == {"cross_entropy", "crf"}
    metrics = {"f1", "precision", "recall", "ucr", "exact_match", "duplicates", "predicate_f1"}
    for split in ("dev", "test"):
        assert set(table.loc[table["split"] == split, "metric"]) == metrics
    train = table[table["split"] == "train"]
    assert set(train["metric"]) == {"seconds_per_epoch", "epochs", "parameters", "prediction_parameters", "best_epoch"}
    page = (whole / "results.md").read_text(encoding="utf-8")
    for word in ("cross-entropy", "CRF", "data/srl_sample/test.gold_conll", "commit", "Seeds: 1"):
        assert word in page
    assert (whole / "results.png").stat().st_size > 10_000
    folders = list((whole / "runs").iterdir())
    (commit,) = {training["commit"] for folder in folders for training in provenance.trainings(folder)}
    assert f"- commits of the runs: {commit}, 2 runs\n" in page and "## Beware" not in page
    settings = "`epochs=3, fraction=0.02, validation_dataset_reader.fraction=0.05`"
    assert f"\n\n## How it was trained\n\n- {settings}: all runs\n\n## srl_sample" in page


@pytest.mark.parametrize("split", ["dev", "test"])
def test_scores_are_those_of_the_saved_frames(whole, split):
    folder = whole / "runs" / "srl_sample-crf-1"
    metrics = read_json(folder / "result.json")["metrics"][split]
    table = pandas.read_csv(folder / f"frames_{split}.csv.gz")
    sums = {name: table[name].to_numpy(float).sum() for name in ("correct", "predicted", "gold", "duplicate")}
    assert metrics["precision"] == pytest.approx(100 * sums["correct"] / max(sums["predicted"], 1))
    assert metrics["recall"] == pytest.approx(100 * sums["correct"] / sums["gold"])
    assert metrics["ucr"] == pytest.approx(100 * sums["duplicate"] / len(table))
    assert not table.duplicated(["source", "predicate", "nth"]).any()


def test_finished_runs_are_not_run_again(whole, monkeypatch, capsys):
    monkeypatch.setattr(Runner, "finish", lambda *_: pytest.fail("a finished run was started"))
    before = (whole / "results.csv").read_bytes()
    assert reproduce.main([*TINY, "--methods", "cross_entropy,crf", "--out", str(whole)]) == 0
    assert (whole / "results.csv").read_bytes() == before
    # Another experiment does not mix with this one.
    assert reproduce.main([*TINY, "--epochs", "4", "--out", str(whole)]) == 2
    assert "other settings" in capsys.readouterr().err


def test_a_run_that_another_process_trains_with_other_settings_meanwhile_is_refused(tmp_path, monkeypatch, capsys):
    plan = reproduce.plan

    def other_process(arguments):
        planned = plan(arguments)
        for run in planned:
            write_text(run.folder / "config.jsonnet", run.config.replace("epochs", "more_epochs"))
        return planned

    monkeypatch.setattr(reproduce, "plan", other_process)
    monkeypatch.setattr(Runner, "_train", lambda *_, **__: pytest.fail("it was trained"))
    assert reproduce.main([*TINY, "--methods", "crf", "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("error: ") and "config.jsonnet is of a run with other settings" in message
    # Nothing is written in the other's folder.
    assert not list(tmp_path.rglob("*.json"))
    # Nor is it taken for ours once the other has ended.
    (run,) = plan(reproduce.parser().parse_args([*TINY, "--methods", "crf", "--out", str(tmp_path / "ended")]))
    write_text(run.folder / "config.jsonnet", "{}")
    write_json(run.folder / "result.json", {"metrics": {split: {} for split in run.splits}})
    with pytest.raises(UserError, match="other settings"):
        Runner(1).finish(run)


def test_a_stop_ends_the_wait_for_another_process(tmp_path):
    """The other one's training may take hours."""
    arguments = ["--suite", "srl_sample", "--methods", "crf", "--seeds", "1", "--out", str(tmp_path)]
    [run] = reproduce.plan(reproduce.parser().parse_args(arguments))
    runner = Runner(1)
    with ThreadPoolExecutor(1) as pool, locked(run.folder / "lock"):
        future = pool.submit(runner.finish, run)
        while run.state == "waiting":
            time.sleep(0.01)
        assert not future.done()
        runner.stop()
        with pytest.raises(Stopped):
            future.result(timeout=300)


def test_a_killed_run_goes_on_to_the_same_result(whole, tmp_path):
    arguments = [*TINY, "--methods", "crf", "--out", str(tmp_path)]
    process = Forked("scripts.reproduce", *arguments, cwd=ROOT)
    folder = tmp_path / "runs" / "srl_sample-crf-1"
    try:
        wait_for(lambda: list((folder / "model").glob("training_state_*.th")), process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    os.kill(int((folder / "lock").read_text()), signal.SIGKILL)
    assert not (folder / "trained.json").exists()
    at_kill = int(Checkpointer(folder / "model").find_latest_checkpoint()[0].partition("_e")[2].partition("_b")[0])

    assert reproduce.main(arguments) == 0
    assert read_json(folder / "trained.json")["recovered"]
    first, again = (training["first_epoch"] for training in provenance.trainings(folder))
    assert first == 0 and again == at_kill > 0 and first_epochs(folder) == {0, again}
    first, second = (pandas.read_csv(out / "results.csv") for out in (whole, tmp_path))
    first = first[first["method"] == "crf"].reset_index(drop=True)
    timed = first["metric"] == "seconds_per_epoch"
    pandas.testing.assert_frame_equal(first[~timed], second[~timed])
    for split in ("dev", "test"):
        name = f"runs/srl_sample-crf-1/frames_{split}.csv.gz"
        assert (whole / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_failed_run_is_named_and_the_others_are_kept(whole, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(SUITES["srl_sample"].methods, "broken", Method("broken", lambda settings: "{}\n"))
    monkeypatch.setattr(reproduce, "all_suites", lambda: SUITES)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'error: set the model'\necho bye\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert reproduce.main([*TINY, "--methods", "cross_entropy,broken", "--out", str(whole)]) == 1
    message = capsys.readouterr().err
    assert "srl_sample-broken-1 failed" in message and "train.log" in message
    page = (whole / "results.md").read_text(encoding="utf-8")
    assert "broken, seed 1: set the model (exit status 3; see " in page and "| CRF | 1 |" in page


def wait_for(condition, process, seconds=900):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)
