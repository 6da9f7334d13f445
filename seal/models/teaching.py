"""
How models of tags and of label sets teach another net: they draw outputs, and these become the gold of instances.
"""

import copy
from collections.abc import Callable
from typing import Any, Optional

import torch
from allennlp.data import Field, Instance

from seal.dataset_readers.fields import KnownLabelsField, LabelSetField
from seal.models.seal_model import SealModel
from seal.output_spaces import LabelSet
from seal.structure.tag_structure import TagPaths
from seal.two_player.objectives import TaskState

_GOLD = ("tags", "labels", "is_predicate")
_NO_GOLD = dict.fromkeys(_GOLD)


def without_gold(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name not in _GOLD}


def predicted(model: SealModel, batch: dict[str, Any], name: str) -> torch.Tensor:
    """What `SealModel.teach` returns without draws: the output that the model's call gives by this name."""
    return model(**without_gold(batch))[name].unsqueeze(1)


def drawn_tags(model: SealModel, state: TaskState, paths: Callable[[], TagPaths], draws: int) -> torch.Tensor:
    """
    What `SealModel.teach` returns, of tags: `(batch, draws, tokens)`. `paths` finds the sequences that compete, for a
    structure.
    """
    if not model.chooses:
        return model.output_space.sample(state.logits, draws, state.mask)
    return model.structure.draw(paths(), draws)


def tag_paths(
    model: SealModel, state: TaskState, words: list[list[str]], outputs: Optional[torch.Tensor] = None
) -> TagPaths:
    """
    The sequences of tags that compete under a model's structure; or in their place `outputs`, `(rows, candidates,
    words)`, with a log-probability of 0.
    """
    space, logits, mask = model.output_space, state.logits, state.mask
    if outputs is None:
        outputs, log_prob = space.k_best(logits, model.structure.num_candidates, mask)
    else:
        log_prob = outputs.new_zeros(outputs.shape[:2], dtype=torch.float)
    reads = model.structure.reads_token_scores
    token_log_prob = space.log_marginals_of(logits, outputs, mask) if reads else None
    return TagPaths(outputs, log_prob, mask, token_log_prob=token_log_prob, words=words)


def drawn_labels(model: SealModel, logits: torch.Tensor, draws: int) -> torch.Tensor:
    """The same of label sets: `(batch, draws, labels)`."""
    structure = model.structure
    # A decision by thresholds that is named is followed in the structure's place.
    if not model.has_learned_structure or not structure.is_followed(model.score):
        return model.output_space.sample(logits, draws)
    return structure.draw(logits, draws)


def with_tags(instance: Instance, tags: torch.Tensor, namespace: str, **more: Field) -> Instance:
    """An instance whose gold is `tags`, `(tokens or more,)`."""
    tokens = instance["tokens"]
    field = KnownLabelsField(tags[: len(tokens)].tolist(), tokens, namespace)
    return replaced(instance, _NO_GOLD, tags=field, **more)


def with_labels(instance: Instance, labels: torch.Tensor, space: LabelSet) -> Instance:
    """An instance whose gold is `labels`, `(labels,)`, 0 or 1."""
    chosen = labels.nonzero().squeeze(1).tolist()
    field = LabelSetField([space.labels[label] for label in chosen], space.namespace)
    # What `index` would find, without a look into the vocabulary.
    field._label_ids, field._num_labels = chosen, space.num_labels
    return replaced(instance, _NO_GOLD, labels=field)


def replaced(instance: Instance, known: dict[str, Any], **fields: Field) -> Instance:
    """An indexed instance with other values `known` in its metadata, and other `fields`, which are indexed, too."""
    # Of the same type as before.
    metadata = copy.copy(instance["metadata"])
    metadata.metadata = {**metadata.metadata, **known}
    made = Instance({**instance.fields, **fields, "metadata": metadata})
    made.indexed = True
    return made
