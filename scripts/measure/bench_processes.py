"""The benchmark of training in several processes: what each adds, and what their exchange of gradients costs."""

import os
import tempfile
import traceback
from multiprocessing.connection import wait
from pathlib import Path
from statistics import mean, median
from typing import Any

from allennlp.common.util import find_open_port
from allennlp.data.data_loaders import SimpleDataLoader
from torch import multiprocessing

import seal  # noqa: F401
from scripts.measure import bench_srl_parts as srl
from scripts.measure import bench_tagging_parts as tagging
from scripts.measure.bench_base import EncoderBenchmark
from scripts.measure.bench_processes_worker import Measured, Net, Variant, Worker
from scripts.measure.bench_rows import Row, seconds_rows
from scripts.measure.bench_timing import Timing, median_ratio
from scripts.measure.own_process import MIB

#: The nets, by method.
CASES = {
    "srl_cross_entropy": "SRL with a transformer, cross-entropy",
    "srl_nce": "SRL with a transformer, NCE",
    "tagging_cross_entropy": "tags with a BiLSTM, cross-entropy",
    "tagging_nce": "tags with a BiLSTM, NCE",
}
ALONE = "1"
VARIANTS = {
    ALONE: Variant(1),
    "2": Variant(2),
    "4": Variant(4),
    "2_nodes": Variant(2, nodes=2),
    "2_at_the_end": Variant(2, at_the_end=True),
    "4_at_the_end": Variant(4, at_the_end=True),
    "2_in_parts": Variant(2, in_parts=True),
    "4_in_parts": Variant(4, in_parts=True),
    "2_unlike": Variant(2, unlike=True),
    "2_apart": Variant(2, apart=True),
}
SENTENCES = 32


class ProcessesBenchmark(EncoderBenchmark):
    """Each process has batches as large as the one process has, on a CPU. The encoder is that of the SRL nets."""

    cases, methods, baseline = CASES, VARIANTS, ALONE
    data = "English Web Treebank or the sample; of tags, random"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # Or each fork would warn of it.
        self._variants = {name: VARIANTS[name] for name in self._methods}

    def srl_cross_entropy(self) -> list[Row]:
        return self._rows("srl_cross_entropy", self._srl("cross_entropy"))

    def srl_nce(self) -> list[Row]:
        return self._rows("srl_nce", self._srl("nce_20"))

    def tagging_cross_entropy(self) -> list[Row]:
        return self._rows("tagging_cross_entropy", self._tagging("cross_entropy"))

    def tagging_nce(self) -> list[Row]:
        return self._rows("tagging_nce", self._tagging("nce"))

    def draw(self, table: Any, path: Path, title: str) -> None:
        from scripts.measure.bench_plots import draw_processes

        draw_processes(table, path, title)

    def _srl(self, method: str) -> Net:
        _, train, dev = srl.read_data()
        vocab = srl.label_vocabulary(train + dev)
        encoder = self.encoder_of(word for item in train for word in item.words)
        drawn = srl.draw_batches(train, self._num_batches, seed=0)
        instances = srl.as_instances(srl.build_reader(encoder), drawn)
        batches = list(SimpleDataLoader(instances, srl.BATCH_SIZE, vocab=vocab))
        settings = srl.experiment(method, encoder, 0.0)["trainer"]
        return Net(settings, lambda: srl.build_model(method, encoder, vocab), batches, srl.BATCH_SIZE)

    def _tagging(self, method: str) -> Net:
        config = tagging.experiment(method)
        batches = tagging.random_batches(self._num_batches, SENTENCES)
        return Net(config["trainer"], lambda: tagging.build_model(config), batches, SENTENCES)

    def _rows(self, case: str, net: Net) -> list[Row]:
        """A round has every variant once; the first round is not counted."""
        found: dict[str, list[list[Measured]]] = {name: [] for name in self._variants}
        with _Workers(net, max(variant.processes for variant in self._variants.values()), self._threads) as workers:
            for number in range(self._repeats + 1):
                for name, variant in self._variants.items():
                    measured = workers.measure(variant)
                    if number:
                        found[name].append(measured)
        title, steps = CASES[case], len(net.batches)
        # A group has the time of its slowest worker, and the CPU seconds of a worker.
        timings = {
            name: [
                Timing(max(worker.timing.wall for worker in group), mean(worker.timing.cpu for worker in group))
                for group in rounds
            ]
            for name, rounds in found.items()
        }
        rows = seconds_rows("processes", title, timings, steps, ALONE)
        clock = {name: [timing.wall for timing in times] for name, times in timings.items()}
        alone = net.rows * steps / median(clock[ALONE])
        states_alone = max(worker.states for worker in found[ALONE][-1]) / MIB
        for name, variant in self._variants.items():
            examples = variant.processes * net.rows * steps / median(clock[name])
            faster = variant.processes * median_ratio(clock[ALONE], clock[name])
            waited = median(mean(worker.waited for worker in group) for group in found[name]) / steps
            step = median(clock[name]) / steps
            sent = max(worker.sent for worker in found[name][-1]) / steps / MIB
            states = max(worker.states for worker in found[name][-1]) / MIB
            rows += [
                Row("processes", title, name, "examples_per_second", examples, alone, faster),
                Row("processes", title, name, "waiting_seconds", waited, step, waited / step),
                Row("processes", title, name, "exchanged_mib", sent, None, None),
                Row("processes", title, name, "states_mib", states, states_alone, states / states_alone),
            ]
        return rows


class _Workers:
    """Processes that are there for all rounds. Those that a group has no use for wait, and take no time."""

    def __init__(self, net: Net, count: int, threads: int) -> None:
        # Forked: the imports are done, and the batches made.
        context = multiprocessing.get_context("fork")
        pipes = [context.Pipe() for _ in range(count)]
        self._pipes = [ours for ours, _ in pipes]
        self._processes = [
            context.Process(target=_serve, args=(theirs, net, rank, threads), daemon=True)
            for rank, (_, theirs) in enumerate(pipes)
        ]

    def __enter__(self) -> "_Workers":
        self._folder = tempfile.TemporaryDirectory(prefix="bench-processes-meeting-")
        for process in self._processes:
            process.start()
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self._processes:
            process.kill()
            process.join()
        self._folder.cleanup()

    def measure(self, variant: Variant) -> list[Measured]:
        meeting = f"tcp://127.0.0.1:{find_open_port()}"
        group = self._pipes[: variant.processes]
        for pipe in group:
            pipe.send((variant, meeting))
        found: dict[Any, Measured] = {}
        while len(found) < len(group):
            # Where a worker ends, the others wait for it.
            for ready in wait([*group, *(process.sentinel for process in self._processes)]):
                answer = ready.recv() if ready in group else "it was killed"
                if isinstance(answer, str):
                    raise RuntimeError(f"a worker ended: {answer}")
                found[ready] = answer
        return [found[pipe] for pipe in group]


def _serve(pipe: Any, net: Net, rank: int, threads: int) -> None:
    try:
        worker = Worker(net, rank, threads)
        while True:
            pipe.send(worker.measure(*pipe.recv()))
    except BaseException:
        pipe.send(traceback.format_exc())
