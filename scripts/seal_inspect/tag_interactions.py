"""The sub-command `tag-interactions`: compares the neighbouring tags that a tagger's energy favours with data."""

import argparse
import json
import os
from typing import Any

import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError
from tqdm import tqdm

from seal.common.setting_checks import check_range
from seal.tasks.base import SealModel
from seal.two_player.objectives import TaskState
from seal_inspect import tag_pairs
from seal_inspect.archives import add_arguments
from seal_inspect.figures import draw_matrices
from seal_inspect.tables import spearman, write_matrix
from seal_inspect.taggers import Tagger

_CORNER = "t \\ t+1"


@Subcommand.register("tag-interactions")
class TagInteractions(Subcommand):
    """
    Writes, for a tagger with a loss-net and tagged data:

    - `negative_cross_hessian.csv`: the mean of `-d^2 E / dy_t dy_{t+1}` over neighbouring words, at the task-net's
      relaxed output (without a task-net, at the output of inference). A row stands for the earlier tag. The sign is
      changed because low energy is good: if the energy favours the second tag after the first, the derivative is
      negative and the written value positive. For the linear chain the table is its transitions `W`.
    - `bigrams.csv`, `pointwise_mutual_information.csv`: the counts of bigrams of tags in the data, and their pointwise
      mutual information in nats.
    - `interactions.png`: the cross-Hessian and pointwise mutual information side by side.
    - `summary.json`: Spearman's correlation of the negative cross-Hessian with pointwise mutual information, over the
      bigrams that occur; and `spearman_centred`, the same after subtracting the means of rows and columns, which are
      arbitrary in an energy of pairs.
    """

    def add_subparser(self, parser: Any) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Show which tags a tagger's energy wants next to each other, beside the data.",
            help="Show how neighbouring tags of a tagger interact.",
        )
        add_arguments(subparser)
        subparser.add_argument(
            "--every",
            type=int,
            default=1,
            help="take the derivative at each so-many-th sentence alone; with language models of tags one takes a "
            "second (default: %(default)s)",
        )
        subparser.add_argument("--tags", type=int, default=40, help="the most tags, by their words, in the figure")
        subparser.set_defaults(func=tag_interactions_from_args)
        return subparser


def tag_interactions_from_args(args: argparse.Namespace) -> dict[str, Any]:
    for option, least in (("every", 1), ("tags", 2)):
        check_range(f"--{option}", getattr(args, option), least=least)
    tagger = Tagger(args, "tag-interactions")
    if tagger.model.loss_net is None:
        raise ConfigurationError(f"{args.archive_file}: the model has no loss-net, and so no energy of tags.")
    os.makedirs(args.output, exist_ok=True)
    negative, pairs, counts = _collect(tagger, args.every)
    if pairs == 0:
        raise ConfigurationError(f"{args.input_file}: no word has a neighbour.")
    information = tag_pairs.pointwise_mutual_information(counts)
    tables = {"negative_cross_hessian": negative, "bigrams": counts, "pointwise_mutual_information": information}
    for name, table in tables.items():
        write_matrix(os.path.join(args.output, f"{name}.csv"), _CORNER, tagger.names, table)
    known = information.isfinite()
    summary = {
        "differentiated_pairs": pairs,
        "bigrams": int(counts.sum()),
        "different_bigrams": int((counts > 0).sum()),
        "spearman": spearman(negative[known].numpy(), information[known].numpy()),
        "spearman_centred": spearman(tag_pairs.centred(negative)[known].numpy(), information[known].numpy()),
    }
    with open(os.path.join(args.output, "summary.json"), "w", encoding="utf-8") as file:
        json.dump(summary, file, indent=2)
    _draw(tagger, negative, counts, information, args)
    print(json.dumps(summary, indent=2))
    return summary


def _collect(tagger: Tagger, every: int) -> tuple[torch.Tensor, int, torch.Tensor]:
    """The mean negative cross-Hessian, its number of word pairs, and the bigrams of all data."""
    size = len(tagger.names)
    total, pairs, sentences = torch.zeros(size, size, dtype=torch.double), 0, 0
    counts = torch.zeros(size, size, dtype=torch.long)
    for batch in tqdm(tagger.batches(), desc="batches", disable=None):
        with torch.no_grad():
            state = tagger.model.task_state(**batch)
            if len(state.logits) == 0:
                continue
            features, outputs = tagger.model.frozen_features(state), _relaxed(tagger.model, state)
        counts += tag_pairs.bigrams(state.gold, state.mask, size).cpu()
        # Batches have sentences of similar length, so every n-th sentence is a representative choice.
        chosen = torch.arange(len(outputs), device=outputs.device)[-sentences % every :: every]
        sentences += len(outputs)
        if len(chosen) == 0:
            continue
        features = [part[chosen] if isinstance(part, torch.Tensor) else part for part in features]
        mask = state.mask[chosen]
        found = tag_pairs.cross_hessian(tagger.model.loss_net, features, outputs[chosen], mask)
        total += found.double().cpu()
        pairs += int(mask[:, 1:].sum())
    return -total / max(pairs, 1), pairs, counts


def _relaxed(model: SealModel, state: TaskState) -> torch.Tensor:
    if model.task_net is None:
        return model.infer(state)
    return model.output_space.relax(state.logits, state.mask).squeeze(1)


def _draw(
    tagger: Tagger, negative: torch.Tensor, counts: torch.Tensor, information: torch.Tensor, args: argparse.Namespace
) -> None:
    uses = counts.sum(dim=0) + counts.sum(dim=1)
    most = uses.argsort(descending=True, stable=True)[: args.tags]
    tables = {
        r"$-\partial^2 E / \partial y_t \partial y_{t+1}$, mean": negative,
        "bigrams: pointwise mutual information, nats (grey: never)": information,
    }
    # A few values far beyond all others would leave these white.
    draw_matrices(
        {title: table[most][:, most].numpy() for title, table in tables.items()},
        [tagger.names[tag] for tag in most.tolist()],
        os.path.join(args.output, "interactions.png"),
        ("tag at t", "tag at t + 1"),
        "Row: the earlier tag. The derivative has its sign turned: low energy is good, so red on the left is a pair "
        "that the energy wants.",
        share=0.995,
    )
