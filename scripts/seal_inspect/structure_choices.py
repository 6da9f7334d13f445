"""
For examples with gold: the task-net's own output, whether gold is a candidate, and the structure's energies.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import torch

from seal.common.setting_checks import require
from seal.structure.tag_sequences import find_gold
from seal.structure.trees import TreeCandidates
from seal.tasks.multilabel import MultilabelModel
from seal.tasks.parsing import ParsingModel
from seal.two_player.objectives import TaskState


class Weighed(NamedTuple):
    #: The task-net's own output for one input, in the form of the model's outputs.
    own: Any
    #: Whether gold is among the candidates.
    competes: bool
    #: The structure's energies of gold, of `own` and of the prediction; `None` for an output that is not a candidate.
    energies: Sequence[Optional[float]]


def weighed_tags(
    model: Any, state: TaskState, predicted: torch.Tensor, metadata: list[dict[str, Any]]
) -> list[Weighed]:
    """Yields a choice for each output of `predicted`, `(batch, tokens)`, such as a frame; `own` has the same form."""
    structure, gold, mask = model.structure, require(state.gold, "gold"), state.mask
    tags, _ = model.output_space.k_best(state.logits, structure.num_candidates, mask)
    own = tags[:, 0] * mask if model.chooses else predicted
    outputs = torch.stack([gold, own, predicted], dim=1)
    paths = model.paths(state, metadata, outputs)
    energies = sum(structure.terms(structure.candidates(paths)), torch.zeros_like(paths.log_prob))
    competes = find_gold(tags, gold, mask) >= 0
    return _weighed(own, competes, energies, outputs.new_ones(outputs.shape[:2], dtype=torch.bool))


def weighed_trees(model: ParsingModel, batch: dict[str, Any], predicted: list[list[str]]) -> list[Weighed]:
    """Yields a choice for each tree, as symbols, that the model has just predicted; `own` has the same form."""
    beam = model.last_beam if model.chooses else model.search(batch["tokens"], for_structure=True)
    found = model.best_trees(beam, batch["metadata"])
    gold = [item["symbols"] for item in batch["metadata"]]
    own = model.own_trees(beam, batch["tokens"]) if model.chooses else predicted
    trees = [list(three) for three in zip(gold, own, predicted)]
    candidates = TreeCandidates(trees, found.words, found.log_prob.new_zeros(len(trees), 3), tags=found.tags)
    energies = sum(model.structure.terms(candidates), torch.zeros_like(candidates.log_prob))
    competes = torch.tensor([tree in others for tree, others in zip(gold, found.trees)])
    return _weighed(own, competes, energies, torch.ones_like(energies, dtype=torch.bool))


def weighed_sets(
    model: MultilabelModel, logits: torch.Tensor, gold: torch.Tensor, predicted: torch.Tensor
) -> list[Weighed]:
    """Yields a choice for each row of `(batch, labels)`; `own`, `(labels,)`, is by the best threshold for the score."""
    structure = model.structure
    own = structure.task_net_labels(logits, model.score)
    outputs = torch.stack([gold.bool(), own, predicted.bool()], dim=1)
    candidates = structure.candidates(logits)
    rows = torch.arange(len(logits), device=logits.device).unsqueeze(1)
    places = structure.set_index().of(outputs.flatten(0, 1)).unflatten(0, outputs.shape[:2])
    if candidates.likely is not None:
        there = ~candidates.likely.log_prob.isneginf()
        same = (candidates.likely.sets.bool().unsqueeze(1) == outputs.unsqueeze(2)).all(dim=3) & there.unsqueeze(1)
        likely = len(structure.sets) + same.long().argmax(dim=2)
        places = torch.where((places < 0) & same.any(dim=2), likely, places)
    none = torch.zeros(len(logits), 1, device=logits.device).expand(-1, len(structure.sets) + structure.num_likely)
    energies = sum(structure.terms(candidates), none)
    competes = places >= 0
    return _weighed(own, competes[:, 0], energies[rows, places.clamp(min=0)], competes)


def _weighed(own: Any, competes: torch.Tensor, energies: torch.Tensor, known: torch.Tensor) -> list[Weighed]:
    values = zip(energies.tolist(), known.tolist())
    rows = [[energy if there else None for energy, there in zip(*row)] for row in values]
    return [Weighed(*row) for row in zip(own, competes.tolist(), rows)]
