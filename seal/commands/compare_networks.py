"""
The `compare-networks` sub-command: where the cost-augmented network leaves the task-net's correct tags.
"""

import argparse
import os
from collections import Counter
from typing import Any, Dict, Iterable, List, Sequence, Tuple

import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from seal.commands import tag_figures
from seal.commands.archives import add_arguments
from seal.commands.tables import write_table
from seal.commands.taggers import Tagger
from seal.common.setting_checks import check_range
from seal.models import TaggingModel

_PREFIX = "cost_augmented_"


@Subcommand.register("compare-networks")
class CompareNetworks(Subcommand):
    """
    Compares the task-net `A` and the cost-augmented network `F^c` of a tagger on tagged data (Tu, Pang & Gimpel 2020,
    Table 3), and writes:

    - `metrics.csv`: each metric of `A`, the same metric of `F^c`, and the first minus the second, all in percent.
    - `confusions.csv`: how many words there are, for each pair of tags, where `A` is right with the first tag and `F^c`
      predicts the second, largest count first; and to how many words `A` correctly gives the first tag.
    - `confusions.png`: the first rows of that table, as many as `--most` says.
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Show where a tagger's cost-augmented network leaves what its task-net has right.",
            help="Compare a tagger's cost-augmented network with its task-net.",
        )
        add_arguments(subparser)
        subparser.add_argument("--most", type=int, default=20, help="pairs of tags that are shown and printed")
        subparser.set_defaults(func=compare_networks_from_args)
        return subparser


def compare_networks_from_args(args: argparse.Namespace) -> Dict[str, Any]:
    check_range("--most", args.most, least=1)
    tagger = Tagger(args, "compare-networks")
    model = tagger.model
    if not isinstance(model, TaggingModel) or model.cost_augmented_net is None:
        raise ConfigurationError(
            f"{args.archive_file}: 'compare-networks' is for 'seal_tagging' models with a cost_augmented_net."
        )
    os.makedirs(args.output, exist_ok=True)
    confusions, right = _count(tagger)
    metrics = model.get_metrics(reset=True)
    differences = [
        (name, metrics[name], theirs, metrics[name] - theirs)
        for name, theirs in ((key[len(_PREFIX) :], metrics[key]) for key in metrics if key.startswith(_PREFIX))
    ]
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
    tag_figures.draw_confusions(
        rows[: args.most], f"{told}\n{summary}", os.path.join(args.output, "confusions.png")
    )
    print(f"{told}\n{summary}")
    _print_table(("A", "F^c", "words", "of"), [(*row, right[row[0]]) for row in rows[: args.most]])
    return {"metrics": {name: gap for name, _, _, gap in differences}, "confusions": rows}


@torch.no_grad()
def _count(tagger: Tagger) -> Tuple[Counter, Counter]:
    """
    Counts the words where `A` is right: those where `F^c` differs, by `(tag of A, tag of F^c)`, and all, by the tag.
    """
    confusions: Counter = Counter()
    right: Counter = Counter()
    for batch in tagger.batches():
        output = tagger.model.make_output_human_readable(tagger.model(**batch))
        gold = [sentence["tags"] for sentence in batch["metadata"]]
        for ours, theirs, truth in zip(output["tags"], output["cost_augmented_tags"], gold):
            for one, other, tag in zip(ours, theirs, truth):
                if one == tag:
                    right[one] += 1
                    confusions[one, other] += one != other
    return +confusions, right


def ranked(confusions: Dict[Tuple[str, str], int]) -> List[Tuple[str, str, int]]:
    """The rows `(tag of A, tag of F^c, words)`, largest count first, and equal counts by name."""
    return sorted(((*pair, count) for pair, count in confusions.items()), key=lambda row: (-row[2], row[:2]))


def _print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    lines = [tuple(map(str, line)) for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
