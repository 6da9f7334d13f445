"""The sub-command `compare-networks`: words on which the task-net is right and the cost-augmented network is not."""

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import check_range
from seal.tasks.tagging import TaggingModel, TaggingScore
from seal_inspect.archives import add_arguments
from seal_inspect.figures import BLUE, figure, verbatim
from seal_inspect.tables import write_table
from seal_inspect.taggers import Tagger

_COMMAND = "compare-networks"
#: The tags of a sentence: gold, the tags of the task-net `A`, and the tags of the cost-augmented network `F^c`.
_Tags = tuple[list[str], list[str], list[str]]


@Subcommand.register(_COMMAND)
class CompareNetworks(Subcommand):
    """
    Compares the task-net `A` and the cost-augmented network `F^c` of a tagger on tagged data (Tu, Pang & Gimpel 2020,
    Table 3), and writes:

    - `metrics.csv`: each metric of `A`, the same metric of `F^c`, and the first minus the second, all in percent.
    - `confusions.csv`: for each pair of tags, the number of words for which `A` correctly predicts the first tag and
      `F^c` the second, largest number first; and the number of words for which `A` correctly predicts the first tag.
    - `confusions.png`: the first `--most` rows of that table.

    A margin-rescaled network is its own cost-augmented network until it is fine-tuned. `--cost-augmented` names an
    archive from before the fine-tuning, whose task-net is then `F^c`.
    """

    def add_subparser(self, parser: Any) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Show where a tagger's cost-augmented network leaves what its task-net has right.",
            help="Compare a tagger's cost-augmented network with its task-net.",
        )
        add_arguments(subparser)
        subparser.add_argument(
            "--cost-augmented",
            metavar="ARCHIVE",
            help="an archived tagger, whose task-net is taken for the cost-augmented network: where a margin-rescaled "
            "network was tuned for the test, the run before the tuning",
        )
        subparser.add_argument("--most", type=int, default=20, help="pairs of tags that are shown and printed")
        subparser.set_defaults(func=compare_networks_from_args)
        return subparser


def compare_networks_from_args(args: argparse.Namespace) -> dict[str, Any]:
    check_range("--most", args.most, least=1)
    tagger = Tagger(args, _COMMAND, in_order=args.cost_augmented is not None)
    tags = list(_tags_of_two(tagger, args) if args.cost_augmented is not None else _tags_of_one(tagger, args))
    os.makedirs(args.output, exist_ok=True)
    differences = _differences(tags, spans=tagger.model.has_spans)
    confusions, right = _count(tags)
    rows = ranked(confusions)
    write_table(
        os.path.join(args.output, "metrics.csv"), ["metric", "task_net", "cost_augmented", "difference"], differences
    )
    write_table(
        os.path.join(args.output, "confusions.csv"),
        ["task_net", "cost_augmented", "words", "words_of_task_net"],
        [(*row, right[row[0]]) for row in rows],
    )
    told = "\n".join(
        f"{name}: A {ours:.2f}, F^c {theirs:.2f}, A - F^c {gap:+.2f}" for name, ours, theirs, gap in differences
    )
    summary = f"A right and F^c another tag: {sum(confusions.values())} of {sum(right.values())} words"
    draw_confusions(rows[: args.most], f"{told}\n{summary}", os.path.join(args.output, "confusions.png"))
    print(f"{told}\n{summary}")
    _print_table(("A", "F^c", "words", "of"), [(*row, right[row[0]]) for row in rows[: args.most]])
    return {"metrics": {name: gap for name, _, _, gap in differences}, "confusions": rows}


def _tags_of_one(tagger: Tagger, args: argparse.Namespace) -> Iterator[_Tags]:
    """Yields the tags of a model with a cost-augmented network."""
    if not isinstance(tagger.model, TaggingModel) or tagger.model.cost_augmented_net is None:
        raise ConfigurationError(
            f"{args.archive_file}: '{_COMMAND}' is for 'seal_tagging' models with a cost_augmented_net; to compare "
            "with the task-net of another run, name its archive with --cost-augmented."
        )
    return _predicted(tagger, "tags", "cost_augmented_tags")


def _tags_of_two(tagger: Tagger, args: argparse.Namespace) -> Iterator[_Tags]:
    """Yields the tags of two models. They must have learnt the same tags and read the same sentences."""
    other = Tagger(argparse.Namespace(**{**vars(args), "archive_file": args.cost_augmented}), _COMMAND, in_order=True)
    for archive, model in ((args.archive_file, tagger.model), (args.cost_augmented, other.model)):
        if not isinstance(model, TaggingModel):
            raise ConfigurationError(f"{archive}: '{_COMMAND}' is for 'seal_tagging' models.")
    if set(other.names) != set(tagger.names):
        raise ConfigurationError(
            f"{args.cost_augmented}: '{_COMMAND}' is for taggers with the same tags, and this one's are not those of "
            f"{args.archive_file}."
        )
    for (gold, ours), (same, theirs) in zip_longest(
        _predicted(tagger, "tags"), _predicted(other, "tags"), fillvalue=([], [])
    ):
        if gold != same:
            raise ConfigurationError(
                f"{args.cost_augmented}: its reader (validation_dataset_reader) takes other sentences from "
                f"{args.input_file} than that of {args.archive_file}."
            )
        yield gold, ours, theirs


@torch.no_grad()
def _predicted(tagger: Tagger, *names: str) -> Iterator[tuple[list[str], ...]]:
    """Yields the gold tags of each sentence, and the model's outputs `names`."""
    for batch in tagger.batches():
        output = tagger.model.make_output_human_readable(tagger.model(**batch))
        yield from zip([sentence["tags"] for sentence in batch["metadata"]], *(output[name] for name in names))


def _differences(tags: list[_Tags], spans: bool) -> list[tuple[str, float, float, float]]:
    """The rows `(metric, A, F^c, A - F^c)`, in percent."""
    gold, *networks = zip(*tags)
    scores = []
    for predicted in networks:
        score = TaggingScore(spans)
        score(predicted, gold)
        scores.append(score.get_metric())
    ours, theirs = scores
    return [(name, ours[name], theirs[name], ours[name] - theirs[name]) for name in ours]


def _count(tags: list[_Tags]) -> tuple[Counter, Counter]:
    """
    Counts the words for which `A` is right, by tag; and those of them for which `F^c` differs, by `(tag of A, tag of
    F^c)`.
    """
    confusions: Counter = Counter()
    right: Counter = Counter()
    for sentence in tags:
        for truth, one, other in zip(*sentence):
            if one == truth:
                right[one] += 1
                confusions[one, other] += one != other
    return +confusions, right


def ranked(confusions: dict[tuple[str, str], int]) -> list[tuple[str, str, int]]:
    """The rows `(tag of A, tag of F^c, words)`, sorted by count and then by name."""
    return sorted(((*pair, count) for pair, count in confusions.items()), key=lambda row: (-row[2], row[:2]))


def draw_confusions(rows: Sequence[tuple[str, str, int]], title: str, path: str) -> None:
    """Draws a bar for each pair of a correct tag of the task-net and a different tag of the cost-augmented network."""
    drawing, (panel,) = figure(1, 6.4, max(2.2, 0.24 * len(rows) + 1.2))
    names = [verbatim(f"{right} → {wrong}") for right, wrong, _ in rows]
    bars = panel.barh(names, [row[2] for row in rows], color=BLUE)
    panel.bar_label(bars, padding=3, fontsize=8)
    panel.invert_yaxis()
    panel.margins(x=0.1)
    panel.tick_params(axis="y", labelsize=8)
    panel.set_xlabel("words")
    panel.set_title(verbatim(title), fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    if not rows:
        # Without bars the axes have no meaning; the title says that there are none.
        panel.set_axis_off()
    drawing.savefig(path, dpi=150)


def _print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    lines = [tuple(map(str, line)) for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
