"""The k best tag sequences under a tagger's emissions and transition scores."""

import copy
from collections.abc import Mapping
from typing import Any

import torch

from seal.common.setting_checks import abbreviate
from seal.output_spaces import CrfTagSequence, TagSequence
from seal.registry import ConfigurationError
from seal.structure import TagStructure
from seal.tagger.data import real_numbers

#: The scores of a CRF's transitions.
TRANSITIONS = ("transitions", "start_transitions", "end_transitions")


def tag_space(labels: list[str], encoding: str | None, transitions: Any) -> TagSequence:
    """The tag sequences of `StructuredTagger`, with the scores of its argument `transitions`."""
    legal = encoding if encoding in ("BIO", "BIOES") else None
    if transitions is None:
        return TagSequence(labels, encoding=legal)
    space = CrfTagSequence(labels, encoding=legal).requires_grad_(False)
    if isinstance(transitions, Mapping):
        given = dict(transitions)
    elif all(hasattr(transitions, name) for name in TRANSITIONS):
        given = {name: getattr(transitions, name) for name in TRANSITIONS}
    else:
        given = {"transitions": transitions}
    size = len(labels)
    for name in given:
        if name not in TRANSITIONS:
            raise ConfigurationError(f"transitions: {abbreviate(name)} is none of {', '.join(TRANSITIONS)}.")
    for name in TRANSITIONS:
        shape = (size, size) if name == "transitions" else (size,)
        try:
            values = real_numbers(given.get(name, torch.zeros(shape))).to("cpu", torch.float32)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"transitions: {name} must be numbers, found {abbreviate(given[name])}."
            ) from error
        if tuple(values.shape) != shape or bool(values.isnan().any()) or bool((values == torch.inf).any()):
            raise ConfigurationError(f"transitions: {name} must be {shape} without NaN, found {tuple(values.shape)}.")
        getattr(space.crf, name).copy_(values)
    return space


def _improbable(scores: torch.Tensor) -> torch.Tensor:
    """Scores, `(batch, ...)`, with each `-inf` replaced by 10,000 nats less than the instance's least finite score."""
    impossible = scores.isneginf()
    least = scores.masked_fill(impossible, torch.inf).flatten(1).amin(dim=1)
    return torch.where(impossible, least.view(-1, *[1] * (scores.dim() - 1)) - 1e4, scores)


def best_paths(
    space: TagSequence, structure: TagStructure, emissions: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """
    `TagStructure.best_paths`. For sentences where all sequences have the score `-inf`, those with the fewest
    impossible tags and transitions.
    """
    space = space.to(emissions.device)
    tags, log_prob, token_log_prob = structure.best_paths(space, emissions, mask)
    rows = log_prob[:, 0].isneginf().nonzero().squeeze(1)
    if len(rows):
        space = copy.deepcopy(space)
        for values in space.parameters():
            values.copy_(_improbable(values.unsqueeze(0))[0])
        replacements = structure.best_paths(space, _improbable(emissions[rows]), mask[rows])
        for whole, part in zip((tags, log_prob, token_log_prob), replacements):
            if whole is not None and part is not None:
                whole[rows] = whole.new_zeros(()) if whole is not log_prob else -torch.inf
                whole[rows, : part.shape[1]] = part
    return tags, log_prob, token_log_prob
