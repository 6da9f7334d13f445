"""Scores of a trained run on its splits, and what each example adds to them, for tests of significance."""

import importlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from scripts.measure.suite import Scores

#: Maps a batch and the model's output for it to a row for each example.
See = Callable[[dict[str, Any], dict[str, Any]], Iterable[dict[str, Any]]]
Rows = Iterator[dict[str, Any]]

#: The columns that name an example: the file and line of a sentence, tree or text.
SOURCE = ("source",)
#: The number of a row or image in the split, from 0; files are read in order.
ROW = ("row",)
#: The file and line of a frame's sentence, its predicate's index, and its number among that word's frames.
FRAME = ("source", "predicate", "nth")


class TrainedRun:
    """
    A run's best model.

    `folder`: of the run, as `allennlp train` left it. `packages`: packages to import before the model is loaded.
    """

    def __init__(self, folder: Path, packages: tuple[str, ...] = ("seal",)) -> None:
        # Imported here, since they take seconds, which `--help` and a finished run need not wait for.
        for package in packages:
            importlib.import_module("seal.plugin" if package == "seal" else package)
        import torch
        from allennlp.models import load_archive

        self._archive = load_archive(str(folder), cuda_device=0 if torch.cuda.is_available() else -1)
        self.model = self._archive.model.eval()
        self.settings: dict[str, Any] = self._archive.config.as_dict(quiet=True)
        # Inference may start at random: with this seed, from the same starts whenever the run is scored.
        torch.manual_seed(0)

    def pass_over(self, path: str, see: See) -> tuple[list[dict[str, Any]], dict[str, float], float]:
        """
        Predicts the data of a path. Returns the results of `see` for all batches, the metrics, and the seconds of
        predicting and scoring, without the time of reading the file.
        """
        import torch

        from seal_inspect.archives import loader_of

        loader = loader_of(self._archive, path, quiet=True)
        seen: list[dict[str, Any]] = []
        start = time.perf_counter()
        with torch.no_grad():
            for batch in loader:
                seen.extend(see(batch, self.model(**batch)))
        metrics = {name: float(value) for name, value in self.model.get_metrics(reset=True).items() if name != "loss"}
        return seen, metrics, time.perf_counter() - start

    def facts(self) -> dict[str, float]:
        """How many parameters were trained, and how many predict."""
        # A baseline of another package predicts with all its parameters.
        predicting = getattr(self.model, "prediction_parameters", self.model.parameters)()
        return {"parameters": _size(self.model.parameters()), "prediction_parameters": _size(predicting)}


def _size(parameters: Any) -> int:
    return sum(parameter.numel() for parameter in parameters)


@dataclass(frozen=True)
class Scorer:
    """Scores a run's best model on each split; the `score` of a `Suite`."""

    #: The columns that name an example.
    key: tuple[str, ...]
    #: Gives, for a run and one of its splits, the function that makes an example's row of a batch and its output.
    see_of: Callable[[TrainedRun], See]
    #: Whether the facts of the model have the examples that it predicts and scores a second.
    timed: bool = True

    def __call__(
        self, folder: Path, splits: dict[str, str], packages: tuple[str, ...] = ("seal",)
    ) -> tuple[dict[str, Scores], dict[str, float]]:
        run = TrainedRun(folder, packages)
        scores, examples, seconds = {}, 0, 0.0
        for split, path in splits.items():
            rows, metrics, elapsed = run.pass_over(path, self.see_of(run))
            scores[split] = Scores(metrics, self._table(rows))
            examples, seconds = examples + len(rows), seconds + elapsed
        return scores, {**run.facts(), **({"examples_per_second": examples / seconds} if self.timed else {})}

    def _table(self, rows: list[dict[str, Any]]) -> pandas.DataFrame:
        table = pandas.DataFrame(rows)
        if self.key == ROW:
            table.insert(0, "row", range(len(table)))
            return table
        return table.sort_values(list(self.key), kind="stable", ignore_index=True)


def _rows_of(columns: dict[str, Any]) -> Rows:
    """The examples of a batch, from a tensor for each column."""
    for values in zip(*(column.tolist() for column in columns.values())):
        yield dict(zip(columns, values))


def _of_frames(run: TrainedRun) -> See:
    """The frames of our models, and of models whose metadata has `predicate`, `tags`, `words` and `source`."""
    from seal.tasks.srl.srl_score import frame_counts

    seen: Counter = Counter()

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Rows:
        tags = run.model.make_output_human_readable(output)["tags"]
        for predicted, meta in zip(tags, batch["metadata"]):
            if meta["predicate"] is None:
                continue
            counts = frame_counts(predicted[: len(meta["words"])], meta["tags"])
            name = (meta["source"], meta["predicate"])
            yield {**dict(zip(FRAME, (*name, seen[name]))), **counts.sums(), "frame": 1}
            seen[name] += 1

    return see


def _of_tags(run: TrainedRun) -> See:
    from seal.tasks.tagging.tagging_score import tagging_sums

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Rows:
        predicted = run.model.make_output_human_readable(output)["tags"]
        for ours, meta in zip(predicted, batch["metadata"]):
            yield {"source": meta["source"], **tagging_sums(ours, meta["tags"], run.model.has_spans)}

    return see


def _of_trees(run: TrainedRun) -> See:
    from seal.tasks.parsing import bracket_counts

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Rows:
        predicted = run.model.make_output_human_readable(output)["symbols"]
        for symbols, meta in zip(predicted, batch["metadata"]):
            yield {"source": meta["source"], **bracket_counts(symbols, meta["symbols"], meta["tags"]).sums()}

    return see


def _of_texts(run: TrainedRun) -> See:
    """As predicted, and at the threshold that training tuned on dev, which is part of the weights."""
    from seal.tasks.multilabel import example_f1

    empty_f1 = run.settings["model"].get("empty_f1", 1.0)

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Rows:
        gold = batch["labels"].bool()
        columns = {"gold": gold.sum(dim=1)}
        tuned = output["probabilities"] >= run.model.tuned_threshold
        for suffix, predicted in {"": output["predicted"], "_tuned": tuned}.items():
            columns[f"f1{suffix}"] = example_f1(predicted, gold, empty_f1)
            columns[f"predicted{suffix}"] = predicted.sum(dim=1)
            columns[f"correct{suffix}"] = (predicted & gold).sum(dim=1)
        for meta, row in zip(batch["metadata"], _rows_of(columns)):
            yield {"source": meta["source"], **row, "rows": 1}

    return see


def _of_label_sets(run: TrainedRun) -> See:
    """As for texts."""
    from seal.tasks.multilabel import example_f1

    empty_f1 = run.settings["model"].get("empty_f1", 1.0)

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Rows:
        gold, tuned = batch["labels"].bool(), output["probabilities"] >= run.model.tuned_threshold
        outputs = {"f1": output["predicted"], "f1_tuned": tuned}
        f1 = {name: example_f1(predicted, gold, empty_f1) for name, predicted in outputs.items()}
        for row in _rows_of(f1):
            yield {**row, "rows": 1}

    return see


def _of_masks(run: TrainedRun) -> See:
    from seal.tasks.segmentation.mask_score import image_iou, overlap_of

    empty_iou = run.settings["model"].get("empty_iou", 1.0)

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Rows:
        intersection, union = overlap_of(output["predicted"], batch["mask"].bool())
        iou = image_iou(intersection, union, empty_iou)
        for row in _rows_of({"iou": iou, "intersection": intersection, "union": union}):
            yield {**row, "images": 1}

    return see


FRAMES = Scorer(FRAME, _of_frames, timed=False)
TAGS = Scorer(SOURCE, _of_tags)
TREES = Scorer(SOURCE, _of_trees)
TEXTS = Scorer(SOURCE, _of_texts)
LABEL_SETS = Scorer(ROW, _of_label_sets)
MASKS = Scorer(ROW, _of_masks)
