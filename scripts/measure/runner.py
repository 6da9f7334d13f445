"""Finishes runs: trains each by `seal train` in its own process, and scores it."""

import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Collection
from pathlib import Path
from statistics import median
from typing import Any, Optional

from scripts.measure import provenance
from scripts.measure.command import Stopped
from scripts.measure.files import locked, read_json, write_gzip, write_json, write_text
from scripts.measure.runs import Run, RunFailed
from scripts.measure.suite import ROOT, Scores


class Runner:
    """
    Trains and scores runs. Several threads use one runner, each for another run.

    `threads`: of each training.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._stopped = threading.Event()
        # Scoring happens in this process, one run at a time.
        self._scoring = threading.Lock()

    def stop(self) -> None:
        """Ends the trainings; every `finish` raises `Stopped`."""
        self._stopped.set()

    def finish(self, run: Run) -> None:
        """
        Trains and scores the run, going on from wherever an earlier call was killed. Raises `RunFailed`, or `UserError`
        where another process has begun the run with other settings meanwhile.
        """
        if self._stopped.is_set():
            raise Stopped()

        def wait() -> None:
            run.state = "waiting for another process that trains it"
            self._wait()

        with locked(run.folder / "lock", wait) as lock:
            run.state = "starting"
            run.check_settings()
            (run.folder / "failed.json").unlink(missing_ok=True)
            if run.finished:
                return
            write_text(run.folder / "config.jsonnet", run.config)
            try:
                self._train_and_score(run, lock)
            except RunFailed as error:
                write_json(run.folder / "failed.json", {**_identity(run), "error": str(error)})
                raise

    def _wait(self) -> None:
        """Waits for 0.2 seconds; raises `Stopped` if the runner was stopped."""
        if self._stopped.wait(0.2):
            raise Stopped()

    def _train_and_score(self, run: Run, lock: int) -> None:
        if not run.trained:
            recovered = run.resumes
            status = self._train(run, lock, recover=recovered)
            if status != 0:
                # What stopped a resumed run may be gone the next time: its checkpoints are not given up for it.
                folder = Path(run.shown_log).with_name(run.model.name)
                advice = f"; to train from the start, delete {folder}" if recovered else ""
                raise RunFailed(f"{_reason(run.log)} (exit status {status}; see {run.shown_log}{advice})")
            write_json(run.folder / "trained.json", {"recovered": recovered})
        recovered = read_json(run.folder / "trained.json")["recovered"]
        try:
            self._score(run)
        except _BadModel as error:
            # A model that was scored before is the right one.
            if not recovered or run.metrics():
                raise RunFailed(str(error)) from error
            # A kill between a checkpoint and its copy as the best model leaves that copy truncated, or an older model.
            (run.folder / "trained.json").unlink()
            shutil.rmtree(run.model)
            self._train_and_score(run, lock)

    def _train(self, run: Run, lock: int, recover: bool) -> int:
        command = [sys.executable, "-m", "seal", "train", str(run.folder / "config.jsonnet")]
        command += ["-s", str(run.model), "--recover" if recover else "--force"]
        for package in run.suite.methods[run.method].packages:
            command += ["--include-package", package]
        if not recover:
            shutil.rmtree(run.model, ignore_errors=True)
        provenance.note_training(run.folder, recover, run.given, run.own)
        with open(run.log, "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=training_environment(self._threads),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[lock],
                # In a group of its own, the training does not get Control-C: this process does, and ends the training.
                # Otherwise the end of the training would look like a failure.
                process_group=0,
            )
            try:
                os.pwrite(lock, f"{process.pid}\n".encode(), 0)
                while process.poll() is None:
                    self._wait()
                    run.state = _how_far(run)
            finally:
                if process.poll() is None:
                    process.terminate()
                    try:
                        process.wait(timeout=10)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.wait()
        return process.returncode

    def _score(self, run: Run) -> None:
        """
        Scores one split at a time, the validation split first, since its score shows whether the model is the one that
        was trained. The scores of a split are written before the next one, and kept if that fails.
        """
        config = read_json(run.model / "config.json")
        validation = run.suite.validation
        paths = run.suite.splits()
        # A config may name another file (--overrides).
        paths[validation] = config["validation_data_path"]
        epochs = [read_json(path) for path in sorted(run.model.glob("metrics_epoch_*.json"), key=_epoch)]
        training = {
            "seconds_per_epoch": median(epoch_seconds(epochs, first_epochs(run.folder))),
            "epochs": len(epochs),
            "best_epoch": epochs[-1]["best_epoch"] + 1,
        }
        for split in sorted(run.missing_splits(), key=lambda split: split != validation):
            scores, facts = self._split_scores(run, split, paths[split])
            if split == validation:
                # A structure and a student are learned after the last epoch.
                later = any((run.model / name).exists() for name in ("structure.json", "self_training.json"))
                report = read_json(run.model / "metrics.json") if later else epochs[-1]
                reported = report[f"best_validation_{run.suite.selection}"]
                _check_score(run, scores.metrics[run.suite.selection], reported, tolerance(config))
            write_gzip(run.folder / f"frames_{split}.csv.gz", scores.examples.to_csv(index=False))
            # The first scoring wrote the facts of the model.
            metrics = {"train": {**training, **facts}, **run.metrics(), split: scores.metrics}
            # In the suite's order, whichever was scored first.
            ordered = {name: metrics[name] for name in [*paths, "train"] if name in metrics}
            write_json(run.folder / "result.json", {**_identity(run), "metrics": ordered})
            run.tidy()

    def _split_scores(self, run: Run, split: str, path: str) -> tuple[Scores, dict[str, float]]:
        """The scores, and the facts of the model. An error is a `_BadModel` only if its weights cannot be read."""
        run.state = "waiting for its scores"
        with self._scoring:
            if self._stopped.is_set():
                raise Stopped()
            run.state = "scoring"
            try:
                scores, facts = _score(run, {split: path}, self._threads)
            except Exception as error:
                failure = _BadModel if _is_torn(run.model / "best.th") else RunFailed
                raise failure(f"scoring it on {split} failed: {type(error).__name__}: {error}") from error
        return scores[split], facts


def _how_far(run: Run) -> str:
    done, in_all = run.done_epochs(), run.all_epochs
    if run.nets == 1:
        return f"epoch {min(done + 1, in_all)}/{in_all}"
    return f"{done}/{in_all} epochs of {run.nets} nets"


class _BadModel(Exception):
    """The best model cannot be read, or is not the one that training reported on."""


def _is_torn(weights: Path) -> bool:
    """Whether the file is missing, or is not the complete zip archive that `torch.save` writes."""
    try:
        with zipfile.ZipFile(weights) as archive:
            return archive.testzip() is not None
    except (FileNotFoundError, zipfile.BadZipFile):
        return True


def _check_score(run: Run, found: float, reported: float, allowed: float) -> None:
    if abs(reported - found) > allowed:
        raise _BadModel(
            f"its best model scores {found:.2f} on {run.suite.validation}, and its training reported {reported:.2f}"
        )


def tolerance(config: dict[str, Any]) -> float:
    """
    How far, in points, the score of a model may be from the one that its training reported. It is the rounding of a
    GPU, and more if inference starts at random, since the starts are then not those of training.
    """
    inference = config["model"].get("inference")
    start = inference.get("start") if isinstance(inference, dict) else None
    return 5.0 if start in ("random", "draw") else 0.02


def _score(run: Run, splits: dict[str, str], threads: int) -> tuple[dict[str, Scores], dict[str, float]]:
    import torch

    torch.set_num_threads(threads)
    before = os.getcwd()
    os.chdir(ROOT)  # Data paths of configs are relative to it.
    try:
        return run.suite.score(run.model, splits, run.suite.methods[run.method].packages)
    finally:
        os.chdir(before)


def training_environment(threads: int) -> dict[str, str]:
    """This process's environment, with the number of threads; `HF_HUB_OFFLINE` and the like stay as they are."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
    }


def first_epochs(folder: Path) -> set[int]:
    """The epochs, from 0, at which a training of the run began or was resumed; empty where that was not recorded."""
    noted = provenance.trainings(folder)
    return {training["first_epoch"] for training in noted if "first_epoch" in training}


def epoch_seconds(epochs: list[dict[str, Any]], first: Collection[int] = ()) -> list[float]:
    """
    The seconds of each epoch, training and validation, from the metrics that AllenNLP writes after each. These hold the
    time since the training began or was resumed after a kill, which it was at the `first` epochs. Where they were not
    recorded, a time that is not above the one before it shows that the training was resumed.
    """
    seconds, before = [], 0.0
    for epoch, metrics in enumerate(epochs):
        elapsed = parse_duration(metrics["training_duration"])
        again = epoch in first or elapsed <= before
        seconds.append(elapsed if again else elapsed - before)
        before = elapsed
    return seconds


def parse_duration(duration: str) -> float:
    """Seconds of `H:MM:SS.ffffff` or `D days, H:MM:SS.ffffff`, as Python writes a time difference."""
    days, _, clock = duration.rpartition(", ")
    hours, minutes, seconds = clock.split(":")
    return 86400 * int(days.split()[0] if days else 0) + 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def _identity(run: Run) -> dict[str, Any]:
    return {"suite": run.suite.name, "dataset": run.suite.dataset, "method": run.method, "seed": run.seed}


def _epoch(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _reason(log: Path) -> str:
    """The error that ended a training, from its log: the last `error:` line, or else the last line."""
    lines: list[str] = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    error: Optional[str] = next((line for line in reversed(lines) if line.startswith("error: ")), None)
    last = next((line for line in reversed(lines) if line), "it ended without a word")
    return error.removeprefix("error: ") if error else last
