"""
The sub-command `label-interactions`: compares how a multi-label model's energy treats pairs of labels with how often
the labels occur together in data.
"""

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

import numpy
import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models.archival import Archive

from seal.common.setting_checks import check_range
from seal.files.taxonomy import Taxonomy
from seal.tasks.multilabel.model import MultilabelModel
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.text.reader import TextMultilabelReader
from seal_inspect import energy_derivatives, label_figures, label_statistics
from seal_inspect.archives import add_arguments, archive_of, loader_of
from seal_inspect.figures import draw_matrices
from seal_inspect.label_pairs import LabelPairs
from seal_inspect.tables import spearman, write_matrix, write_table

_OTHERS = ("zeros", "means", "gold")
# The smallest y at which the gradient of cross-entropy, -1/y, is drawn.
_EDGE = 0.05


@Subcommand.register("label-interactions")
class LabelInteractions(Subcommand):
    """
    Writes tables (CSV) and figures (PNG) about a `seal_multilabel` or `seal_text_multilabel` model and a data set:

    - `label_sets`, `labels.csv`: the size and variety of the label sets, and how often each label occurs alone.
    - `negative_hessian.csv`, `co_occurrence.csv`, `pointwise_mutual_information.csv`, `interactions.png`: the Hessian
      of the global energy at the model's predictions, averaged over the rows, and how often labels occur together. The
      Hessian has its sign changed. Low energy is good, so if the energy favours two labels together, the Hessian is
      negative and the written value positive.
    - `pair_gradients`: the gradient of the global energy with respect to one label of a pair, over the outputs of both,
      for a related and an unrelated pair; and the gradient of cross-entropy, `-1 / y_k` for a true label `k`, with
      `y_k` at least 0.05. A negative gradient raises the label.
    - `summary.json`: the statistics of the label sets, the labels of the two pairs, and Spearman's correlation of the
      negative Hessian with co-occurrence and with pointwise mutual information, over pairs of different labels.

    For a model without a loss-net only the first files and the tables of co-occurrence are written.
    """

    def add_subparser(self, parser: Any) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Show which labels a multi-label model's energy wants together, beside the data.",
            help="Show how the labels of a multi-label model interact.",
        )
        add_arguments(subparser)
        subparser.add_argument(
            "--instances", type=int, default=1000, help="rows that the Hessian is averaged over, the file's first"
        )
        subparser.add_argument("--labels", type=int, default=40, help="the most labels, by their rows, in a figure")
        subparser.add_argument("--grid", type=int, default=51, help="steps of y_i and of y_k")
        subparser.add_argument(
            "--others",
            choices=_OTHERS,
            default="zeros",
            help="what the labels outside the pair are set to: 0, their share of the rows, or the labels of the first "
            "row",
        )
        subparser.add_argument(
            "--related",
            nargs=2,
            metavar=("LABEL", "LABEL"),
            help="i and k, as a child and its parent (otherwise: an edge of the taxonomy, or the labels that are most "
            "associated)",
        )
        subparser.add_argument(
            "--unrelated",
            nargs=2,
            metavar=("LABEL", "LABEL"),
            help="i and k (otherwise: the same k, and the label that is closest to independent of it)",
        )
        subparser.set_defaults(func=label_interactions_from_args)
        return subparser


def label_interactions_from_args(args: argparse.Namespace) -> dict[str, Any]:
    for option, least in (("instances", 1), ("labels", 2), ("grid", 2)):
        check_range(f"--{option}", getattr(args, option), least=least)
    archive = archive_of(args)
    if not isinstance(archive.model, MultilabelModel):
        raise ConfigurationError(
            f"{args.archive_file}: 'label-interactions' is for multi-label models, not {type(archive.model).__name__}."
        )
    os.makedirs(args.output, exist_ok=True)
    summary = _Interactions(archive, args).write()
    print(json.dumps(summary, indent=2))
    return summary


class _Data(NamedTuple):
    """The labels of all rows, `(rows, labels)`; the loss-net's mean Hessian, and its features of the first row."""

    gold: numpy.ndarray
    hessian: Optional[torch.Tensor]
    features: list[Any]


class _Interactions:
    def __init__(self, archive: Archive, args: argparse.Namespace) -> None:
        self._model: MultilabelModel = archive.model.eval()
        self._reader: DatasetReader = archive.validation_dataset_reader
        self._names: list[str] = self._model.output_space.labels
        self._args = args
        self._related_asked, self._unrelated_asked = self._asked(args.related), self._asked(args.unrelated)
        self._loader = loader_of(archive, args.input_file, in_order=True)

    def write(self) -> dict[str, Any]:
        data = self._collect()
        sets = label_statistics.label_sets(data.gold)
        together = label_statistics.co_occurrence(data.gold)
        information = label_statistics.pointwise_mutual_information(data.gold)
        self._table("label_sets.csv", ["statistic", "value"], sets.summary.items())
        self._table("labels.csv", ["label", "rows", "alone"], zip(self._names, sets.counts, sets.alone))
        label_figures.draw_label_sets(sets, self._path("label_sets.png"))
        matrices = {"co-occurrence": together, "pointwise mutual information, nats (grey: never)": information}
        self._matrix("co_occurrence.csv", together)
        self._matrix("pointwise_mutual_information.csv", information)
        summary: dict[str, Any] = {"label_sets": sets.summary}
        if data.hessian is not None:
            negative = -data.hessian.double().cpu().numpy()
            numpy.fill_diagonal(negative, 0)
            self._matrix("negative_hessian.csv", negative)
            matrices = {"- Hessian of the global energy": negative, **matrices}
            summary["spearman"] = {
                "co_occurrence": _spearman(negative, together),
                "pointwise_mutual_information": _spearman(negative, information),
            }
            summary["pairs"] = self._pairs(data)
        most = numpy.argsort(-sets.counts, kind="stable")[: self._args.labels]
        shown = {title: matrix[numpy.ix_(most, most)] for title, matrix in matrices.items()}
        draw_matrices(shown, [self._names[label] for label in most], self._path("interactions.png"))
        with open(self._path("summary.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2)
        return summary

    @torch.no_grad()
    def _collect(self) -> _Data:
        gold: list[torch.Tensor] = []
        total, rows, features = None, 0, []  # type: Optional[torch.Tensor], int, list[Any]
        for batch in self._loader:
            if batch.get("labels") is None:
                raise ConfigurationError(f"{self._args.input_file}: the data have no labels.")
            gold.append(batch["labels"].bool().cpu())
            room = self._args.instances - rows
            if self._model.loss_net is None or room <= 0:
                continue
            state = self._model.task_state(**batch)
            frozen = self._model.frozen_features(state)
            outputs = self._model(**batch)["probabilities"]
            features = features or energy_derivatives.first_row(frozen)
            frozen = [part[:room] if isinstance(part, torch.Tensor) else part for part in frozen]
            number = len(outputs[:room])
            mean = energy_derivatives.mean_hessian(self._model.loss_net, frozen, outputs[:room])
            total = mean * number if total is None else total + mean * number
            rows += number
        if not gold:
            raise ConfigurationError(f"{self._args.input_file}: there is no row.")
        return _Data(torch.cat(gold).numpy(), None if total is None else total / rows, features)

    def _pairs(self, data: _Data) -> dict[str, list[str]]:
        """Writes the gradients for the pairs, and returns the names of the labels of each pair."""
        related, unrelated = self._related_asked, self._unrelated_asked
        if related is None or unrelated is None:
            found = LabelPairs(self._names, self._taxonomy(), data.gold)
            related = related or found.related()
            if related is None:
                return {}
            unrelated = unrelated or found.unrelated(related)
        pairs = {"related": related, **({} if unrelated is None else {"unrelated": unrelated})}
        grid = numpy.linspace(0, 1, self._args.grid)
        clipped = numpy.clip(grid, _EDGE, 1)
        surfaces: dict[str, numpy.ndarray] = {}
        axes: dict[str, list[str]] = {}
        lines: list[list[Any]] = []

        def add(kind: str, title: str, names: list[str], gradient: numpy.ndarray) -> None:
            surfaces[title], axes[title] = gradient, names
            lines.extend(
                [kind, *names, grid[i], grid[k], gradient[i, k]] for i in range(len(grid)) for k in range(len(grid))
            )

        title = f"cross-entropy, true $y_k$ = 1 ($y_k \\geq$ {_EDGE})"
        add("cross-entropy", title, ["any label", "the true label"], numpy.tile(-1 / clipped, (len(grid), 1)))
        others = torch.zeros(len(self._names), device=self._model.tuned_threshold.device)
        if self._args.others != "zeros":
            values = data.gold.mean(axis=0) if self._args.others == "means" else data.gold[0]
            others += torch.from_numpy(values).to(others)
        for kind, (first, second) in pairs.items():
            gradient = (
                energy_derivatives.pair_gradient(self._model.loss_net, data.features, others, first, second, len(grid))
                .cpu()
                .numpy()
            )
            add(kind, f"{kind}: d E_global / d $y_k$", [self._names[first], self._names[second]], gradient)
        self._table("pair_gradients.csv", ["pair", "i", "k", "y_i", "y_k", "gradient_k"], lines)
        label_figures.draw_surfaces(surfaces, axes, self._path("pair_gradients.png"))
        return {kind: [self._names[label] for label in pair] for kind, pair in pairs.items()}

    def _asked(self, names: Optional[Sequence[str]]) -> Optional[list[int]]:
        for name in names or ():
            if name not in self._names:
                raise ConfigurationError(f"--related, --unrelated: the model has no label {name!r}.")
        if names and names[0] == names[1]:
            raise ConfigurationError(f"--related, --unrelated: a pair is of two labels, not of {names[0]!r} twice.")
        return [self._names.index(name) for name in names] if names else None

    def _taxonomy(self) -> Optional[Taxonomy]:
        if isinstance(self._reader, TextMultilabelReader):
            return self._reader.taxonomy()
        # The taxonomy of a file of features comes with the file, which is read a second time.
        return self._reader.load(self._args.input_file).taxonomy if isinstance(self._reader, MultilabelReader) else None

    def _path(self, name: str) -> str:
        return os.path.join(self._args.output, name)

    def _table(self, name: str, header: list[str], rows: Iterable[Iterable[Any]]) -> None:
        write_table(self._path(name), header, rows)

    def _matrix(self, name: str, matrix: numpy.ndarray) -> None:
        write_matrix(self._path(name), "label", self._names, matrix)


def _spearman(first: numpy.ndarray, second: numpy.ndarray) -> Optional[float]:
    """Spearman's correlation over pairs of different labels with values in both matrices."""
    above = numpy.triu_indices(len(first), k=1)
    left, right = first[above], second[above]
    there = numpy.isfinite(left) & numpy.isfinite(right)
    return spearman(left[there], right[there])
