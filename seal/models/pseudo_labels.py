"""
Pseudo-labels of tags and of label sets: a model draws outputs, which become the gold of instances for another net.
"""

import copy
from collections.abc import Callable
from typing import Any, Optional

import torch
from allennlp.data import Field, Instance

from seal.common.setting_checks import needed
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
    """What `SealModel.pseudo_labels` returns without samples: the output that the model's call gives by this name."""
    return model(**without_gold(batch))[name].unsqueeze(1)


def sampled_tags(model: SealModel, state: TaskState, paths: Callable[[], TagPaths], num_samples: int) -> torch.Tensor:
    """
    What `SealModel.pseudo_labels` returns, of tags: `(batch, num_samples, tokens)`. `paths` finds the
    sequences that compete, for a structure.
    """
    if not model.chooses:
        return model.output_space.sample(state.logits, num_samples, state.mask)
    return model.structure.draw(paths(), num_samples)


def tag_paths(
    model: SealModel, state: TaskState, words: list[list[str]], outputs: Optional[torch.Tensor] = None
) -> TagPaths:
    """
    The sequences of tags that compete under a model's structure; or in their place `outputs`, `(rows, candidates,
    words)`, with a log-probability of 0.
    """
    space: Any = model.output_space
    logits, mask = state.logits, needed(state.mask, "mask")
    reads, number = model.structure.reads_token_scores, model.structure.num_candidates
    token_log_prob = None
    if outputs is not None:
        log_prob = outputs.new_zeros(outputs.shape[:2], dtype=torch.float)
        token_log_prob = space.log_marginals_of(logits, outputs, mask) if reads else None
    elif reads:
        outputs, log_prob, token_log_prob = space.k_best_and_marginals(logits, number, mask)
    else:
        outputs, log_prob = space.k_best(logits, number, mask)
    return TagPaths(outputs, log_prob, mask, token_log_prob=token_log_prob, words=words)


def sampled_labels(model: SealModel, logits: torch.Tensor, num_samples: int) -> torch.Tensor:
    """The same of label sets: `(batch, num_samples, labels)`."""
    structure = model.structure
    # A decision by thresholds that is named is followed in the structure's place.
    if not model.has_learned_structure or not structure.is_followed(model.score):
        return model.output_space.sample(logits, num_samples)
    return structure.draw(logits, num_samples)


def with_tags(instance: Instance, tags: torch.Tensor, namespace: str, **more: Field) -> Instance:
    """An instance whose gold is `tags`, `(tokens or more,)`."""
    tokens: Any = instance["tokens"]
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
    metadata: Any = copy.copy(instance["metadata"])
    metadata.metadata = {**metadata.metadata, **known}
    made = Instance({**instance.fields, **fields, "metadata": metadata})
    made.indexed = True
    return made
