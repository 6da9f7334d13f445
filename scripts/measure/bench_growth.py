"""The benchmark of growth: how the cost of a training step grows with each size, beside the power in its formula."""

import math
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from allennlp.data import Vocabulary
from allennlp.training import Trainer

import seal  # noqa: F401
from scripts.measure import bench_base
from scripts.measure import bench_multilabel_parts as label_sets
from scripts.measure.bench_base import Batches, Benchmark
from scripts.measure.bench_encoder import save_random_bert
from scripts.measure.bench_rows import Row, seconds_rows
from scripts.measure.bench_timing import epoch_of, interleaved
from scripts.measure.configs import library_value, text

#: What all sizes are that do not grow.
FEATURES, LABELS, SAMPLES, ROWS = 500, 159, 20, 32
TAGS, TOKENS, SENTENCES = 25, 20, 16
WIDTH, LAYERS, PIECES, TEXTS = 128, 2, 64, 8
WORDS = 1000
#: Learning rates of 0: an update takes its usual time and changes nothing.
STILL = "epochs: 1, task_net_lr: 0, loss_net_lr: 0"


class Growth(NamedTuple):
    title: str
    sizes: tuple[int, ...]
    #: Of the size, in the term of a step's operations that grows fastest: the slope that the cost tends to where both
    #: axes are logarithmic.
    power: float
    #: That term.
    term: str


CASES = {
    "labels": Growth("label sets, NCE: labels", (100, 300, 1000, 3000, 10_000, 30_000), 1, "rows x samples x labels"),
    "samples": Growth("label sets, NCE: draws", (1, 10, 50, 200, 800, 3200), 1, "rows x samples x labels"),
    "rows": Growth("label sets, NCE: rows of a batch", (8, 32, 128, 512, 2048), 1, "rows x samples x labels"),
    "tags": Growth("tags, NCE: tags", (10, 30, 100, 300, 1000, 3000), 2, "tokens x tags^2"),
    "chain": Growth("tags, CRF: tags", (10, 30, 100, 300, 1000, 3000), 2, "tokens x tags^2"),
    "tokens": Growth("tags, NCE: words of a sentence", (10, 20, 40, 80, 160, 320), 1, "tokens x width^2"),
    "pieces": Growth("texts, NCE, transformer: pieces of a text", (32, 64, 128, 256, 512), 2, "pieces^2 x width"),
    "width": Growth("texts, NCE, transformer: width", (64, 128, 256, 512), 2, "pieces x width^2"),
}


class GrowthBenchmark(Benchmark):
    """
    The data are random: a step's time does not depend on their meaning. A case has the method that its title names.
    """

    cases, methods, baseline = CASES, ("nce",), "nce"
    description = f"steps of {ROWS} rows, {SENTENCES} sentences or {TEXTS} texts"

    def labels(self) -> list[Row]:
        return self._grown("labels", lambda size: self._label_sets(labels=size))

    def samples(self) -> list[Row]:
        return self._grown("samples", lambda size: self._label_sets(samples=size))

    def rows(self) -> list[Row]:
        return self._grown("rows", lambda size: self._label_sets(rows=size))

    def tags(self) -> list[Row]:
        return self._grown("tags", lambda size: self._sequences(f"nce(num_samples={SAMPLES})", tags=size))

    def chain(self) -> list[Row]:
        return self._grown("chain", lambda size: self._sequences("crf()", tags=size))

    def tokens(self) -> list[Row]:
        return self._grown("tokens", lambda size: self._sequences(f"nce(num_samples={SAMPLES})", tokens=size))

    def pieces(self) -> list[Row]:
        return self._grown("pieces", lambda size: self._texts(pieces=size))

    def width(self) -> list[Row]:
        return self._grown("width", lambda size: self._texts(width=size))

    def draw(self, table: Any, path: Path, title: str) -> None:
        from scripts.measure.bench_plots import draw_growth

        draw_growth(table, path, title, {growth.title: growth for growth in CASES.values()})

    def _grown(self, case: str, build: Callable[[int], Trainer]) -> list[Row]:
        """The ratios are to the smallest size; the slope is that between the two largest."""
        growth = CASES[case]
        timings = {}
        for size in growth.sizes:
            # One after the other, so that the largest models are not in memory all at once.
            timings.update(interleaved({str(size): epoch_of(build(size))}, self._repeats))
        clock = "wall" if torch.cuda.is_available() else "cpu"
        before, last = (median(getattr(time, clock) for time in timings[str(size)]) for size in growth.sizes[-2:])
        slope = math.log(last / before) / math.log(growth.sizes[-1] / growth.sizes[-2])
        return [
            *seconds_rows("growth", growth.title, timings, self._num_batches, str(growth.sizes[0])),
            Row("growth", growth.title, growth.term, "slope", slope, growth.power, None),
        ]

    def _label_sets(self, labels: int = LABELS, samples: int = SAMPLES, rows: int = ROWS) -> Trainer:
        batches = label_sets.random_batches(self._num_batches, rows, FEATURES, labels)
        settings = {**label_sets.ONE_STEP, "num_samples": samples, "task_net_lr": 0.0, "loss_net_lr": 0.0}
        return label_sets.build_trainer("sample", "nce", batches, **settings)

    def _sequences(self, method: str, tags: int = TAGS, tokens: int = TOKENS) -> Trainer:
        names = {"tokens": [f"w{number}" for number in range(WORDS)], "tags": [f"t{number}" for number in range(tags)]}
        vocab = Vocabulary(tokens_to_add=names, non_padded_namespaces=["tags"])
        batches = []
        for words in self._numbers(2, WORDS, SENTENCES, tokens):
            gold = words % tags
            metadata = [{"words": None, "tags": [f"t{tag}" for tag in row], "source": None} for row in gold.tolist()]
            batches.append({"tokens": {"tokens": {"tokens": words}}, "tags": gold, "metadata": metadata})
        return _trainer(
            "tagging",
            f"""tagging.experiment(
              data=tagging.data.twitter_pos, encoder=tagging.encoder.bilstm(characters=0),
              method=tagging.method.{method},
              training=tagging.training.default {{ {STILL} }},
            )""",
            vocab,
            batches,
        )

    def _texts(self, pieces: int = PIECES, width: int = WIDTH) -> Trainer:
        folder = Path(self._folder.name) / f"bert-{width}"
        if not folder.exists():
            save_random_bert(folder, [f"w{number}" for number in range(WORDS)], LAYERS, width)
        vocab = Vocabulary(tokens_to_add={"labels": [f"l{number}" for number in range(TAGS)]})
        batches = []
        for ids in self._numbers(5, WORDS, TEXTS, pieces):
            tokens = {"token_ids": ids, "mask": torch.ones_like(ids).bool(), "type_ids": torch.zeros_like(ids)}
            gold = (torch.arange(TAGS) < 3).float().expand(TEXTS, TAGS)
            metadata = [{"labels": ["l0", "l1", "l2"], "source": None}] * TEXTS
            batches.append({"tokens": {"tokens": tokens}, "labels": gold, "metadata": metadata})
        return _trainer(
            "text",
            f"""text.experiment(
              data=text.data.sample, encoder=text.encoder.transformer({text(str(folder))}),
              method=text.method.nce(num_samples={SAMPLES}),
              training=text.training.default {{ {STILL}, head_lr: null, scheduler: null }},
            )""",
            vocab,
            batches,
        )

    def _numbers(self, least: int, below: int, rows: int, columns: int) -> list[torch.Tensor]:
        """A matrix for each batch, the same in every run."""
        generator = torch.Generator().manual_seed(0)
        return [torch.randint(least, below, (rows, columns), generator=generator) for _ in range(self._num_batches)]


def _trainer(library: str, experiment: str, vocab: Vocabulary, batches: list[Any]) -> Trainer:
    config = library_value(f"{library}.libsonnet", f"local {library} = lib; {experiment}")
    return bench_base.build_trainer(config["trainer"], bench_base.build_model(config["model"], vocab), Batches(batches))
