"""Nets of folds in processes: the same result, what they report, and how they end."""

import multiprocessing
import os
import random
import signal
import time

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.training import cross_fitting, fold_processes
from seal.training.fold_processes import FoldProcesses, jobs_and_threads
from tests.training.runs import Killed, build, comparable, differing, weights
from tests.training.test_cross_fitting import settings

FOLDS = {0: "Fold 1 of 2", 1: "Fold 2 of 2"}


@TrainerCallback.register("end_in_fold")
class EndInFold(TrainerCallback):
    """Calls `end` after an update of the net in a folder with this name."""

    folder, end = "", None

    def on_batch(self, trainer, *args, is_training=True, **kwargs):
        if is_training and os.path.basename(trainer._serialization_dir) == self.folder:
            if trainer._total_batches_completed == 3:
                EndInFold.end()


SIDE_BY_SIDE = {
    "trainer__fold_jobs": 3,
    "trainer__callbacks": [{"type": "end_in_fold"}],
    "trainer__checkpointer": {"save_every_num_batches": 1},
    "epochs": 2,
}


def result(trainer):
    metrics, folder = comparable(trainer.train()), trainer._serialization_dir
    records = [torch.load(f"{folder}/folds/{fold}/held_out.pt") for fold in range(3)]
    log_probs = [record["log_prob"].tolist() for fold in records for record in fold]
    with open(f"{folder}/structure.json", encoding="utf-8") as file:
        return weights(trainer.model), (metrics, log_probs, file.read())


@pytest.fixture(scope="module")
def one_after_the_other(tmp_path_factory):
    return result(build(settings(**{**SIDE_BY_SIDE, "trainer__fold_jobs": 1}), tmp_path_factory.mktemp("one")))


def check_same(one, other):
    assert one[0].keys() == other[0].keys() and not differing(one[0], other[0])
    assert one[1] == other[1]


def test_the_result_is_that_of_folds_one_after_the_other(tmp_path, one_after_the_other):
    check_same(result(build(settings(**SIDE_BY_SIDE), tmp_path)), one_after_the_other)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def stopped():
    raise Killed()


@pytest.mark.parametrize("where, how", [("run", stopped), ("1", stopped), ("1", killed)])
def test_a_run_that_ended_anywhere_goes_on_to_the_same_result(tmp_path, monkeypatch, one_after_the_other, where, how):
    monkeypatch.setattr(EndInFold, "folder", where)
    monkeypatch.setattr(EndInFold, "end", how)
    with pytest.raises(ConfigurationError if how is killed else Killed) as error:
        build(settings(**SIDE_BY_SIDE), tmp_path / "run").train()
    assert not multiprocessing.active_children()
    assert how is stopped or all(word in str(error.value) for word in ("Fold 2 of 3", "SIGKILL", "--recover"))
    monkeypatch.setattr(EndInFold, "folder", "")
    trainer = build(settings(**SIDE_BY_SIDE), tmp_path / "run")
    # A new process stands at other random numbers; without a checkpoint it begins anew, with the seed.
    if any((tmp_path / "run").glob("training_state_*")):
        torch.rand(7)
    check_same(result(trainer), one_after_the_other)


def test_folds_are_scored_alike_whatever_random_numbers_came_before(tmp_path, monkeypatch, one_after_the_other):
    """As in a run that was killed between a fold's last checkpoint and its scores."""
    score = cross_fitting.score

    def later(*arguments):
        torch.rand(7), random.random(), numpy.random.rand(7)
        return score(*arguments)

    monkeypatch.setattr(cross_fitting, "score", later)
    found = result(build(settings(**{**SIDE_BY_SIDE, "trainer__fold_jobs": 1}), tmp_path))
    check_same(found, one_after_the_other)


def test_no_more_processes_train_than_there_are_turns(tmp_path):
    log = tmp_path / "log"

    def train(fold):
        for word in ("begin", "end"):
            with log.open("a") as file:
                file.write(f"{word}\n")
            time.sleep(0.1)

    with FoldProcesses(train, FOLDS, jobs=2, threads=1) as processes:
        while processes._running:
            processes.listen(None)
    assert log.read_text().split() == ["begin", "end"] * 2


class NotSent(Exception):
    def __reduce__(self):
        raise TypeError("no pickle")


@pytest.mark.parametrize(
    "raised, kind", [(ConfigurationError("a b"), ConfigurationError), (NotSent("a b"), RuntimeError)]
)
def test_an_error_is_raised_here_with_its_traceback_there(raised, kind):
    def train(fold):
        if fold == 1:
            raise raised
        time.sleep(60)

    with pytest.raises(kind, match="a b") as error, FoldProcesses(train, FOLDS, jobs=3, threads=1) as processes:
        processes.finish()
    assert "in train" in str(error.value.__cause__)
    assert not multiprocessing.active_children()


def test_threads_of_a_process_work_though_there_were_others_before():
    """OpenMP would wait for ever in the main thread of a fork."""

    def train(fold):
        (torch.randn(600, 600) @ torch.randn(600, 600)).tanh().sum()

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        train(0)
        with FoldProcesses(train, FOLDS, jobs=3, threads=2) as processes:
            processes._turns.release()
            processes.listen(20)
            for process, _ in list(processes._running.values()):
                process.join(20)
                assert process.exitcode == 0
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("signals", [(signal.SIGKILL,), (signal.SIGINT, signal.SIGKILL)])
def test_processes_end_with_the_run(tmp_path, signals):
    def train(fold):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    def run():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with FoldProcesses(train, FOLDS, jobs=3, threads=1) as processes:
            processes.finish()

    parent = multiprocessing.get_context("fork").Process(target=run)
    parent.start()
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    children = [int(path.name) for path in tmp_path.iterdir()]
    for each in signals:
        assert all(map(lives, children))
        for process in [*children, parent.pid] if each == signal.SIGINT else [parent.pid]:
            os.kill(process, each)
    parent.join()
    wait_until(lambda: not any(map(lives, children)))


def wait_until(condition, seconds=20):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end
        time.sleep(0.02)


def lives(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "cores, told, free, found",
    [
        (1, None, 99, (1, 1)),
        (2, None, 99, (2, 1)),
        (9, None, 99, (4, 2)),
        (2, 1, 0, (1, 2)),
        (1, 3, 0, (3, 1)),
        # Threads decide the rounding of sums, and memory must not.
        (9, None, 2, (3, 2)),
        (9, None, 0, (1, 2)),
    ],
)
def test_how_many_at_a_time(monkeypatch, cores, told, free, found):
    monkeypatch.setattr(torch, "get_num_threads", lambda: cores)
    monkeypatch.setattr(fold_processes, "_resident_memory", lambda: 84)
    monkeypatch.setattr(fold_processes, "_free_memory", lambda: 100 * free)
    assert jobs_and_threads(4, told, torch.nn.Linear(1, 1, bias=False)) == found


def test_a_gpu_trains_one_after_the_other():
    on_gpu = torch.nn.Linear(1, 1, device="meta")
    assert jobs_and_threads(4, None, on_gpu)[0] == jobs_and_threads(4, 1, on_gpu)[0] == 1
    with pytest.raises(ConfigurationError, match="trainer.fold_jobs"):
        jobs_and_threads(4, 2, on_gpu)
