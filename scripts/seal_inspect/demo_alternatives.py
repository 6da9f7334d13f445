"""The other candidates for a prediction, their scores, and the reason for the model's choice."""

from collections.abc import Iterator
from typing import Any, Optional

import torch

from seal.constraints import Declared
from seal.structure.candidate_structure import OWN
from seal.structure.structure import Structure
from seal.tasks.base.predictor import finite
from seal.tasks.base.seal_model import SealModel

#: The number of other outputs that are shown.
ALTERNATIVES = 6
_EXPECTED = "expected_score"
#: The column with the probability that an output is right.
PROBABILITY = "probability"


def structure_of(model: SealModel) -> Optional[Structure]:
    """The model's structure; `None` without one, or before it has been learned."""
    return model.structure if model.has_learned_structure else None


def scores_of(model: SealModel, log_prob: torch.Tensor, candidates: Any, score: str) -> dict[str, torch.Tensor]:
    """
    The scores of the candidates for one input.

    # Parameters

    model : `SealModel`
    log_prob : `torch.Tensor`, `(1, candidates)`
    candidates : `CandidateBatch`
        Not used if the model has no structure.
    score : `str`
        The score for which the structure decides.

    # Returns

    `dict[str, torch.Tensor]`
        Columns by name, `(candidates,)` each: the task-net's log-probability, the structure's energy and each of its
        terms, the calibrated probability by both and, if the structure decides by it, the expected score.
    """
    columns, structure = {"log-probability": log_prob[0]}, structure_of(model)
    if structure is None:
        return columns
    terms = {_words(energy): term[0] for energy, term in zip(structure.joint.energies, structure.terms(candidates))}
    columns["energy"] = sum(terms.values(), torch.zeros_like(log_prob[0]))
    columns |= terms
    # Outputs that a rule excludes are never chosen.
    excluded = structure.joint_scores(candidates).isneginf()
    columns[PROBABILITY] = structure.calibrated(candidates).masked_fill(excluded, torch.nan)[0]
    if _option(structure, score) == _EXPECTED:
        columns[_expected_name(score)] = structure.expected_scores(candidates)[0]
    return columns


def broken(model: SealModel, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> dict[str, torch.Tensor]:
    """
    The violations of each declared rule of the model by the outputs for one input, `(1, candidates, ...)`: columns by
    name, `(candidates,)` each, 0 for an output that keeps the rule.
    """
    return {
        f"breaks {name}": violations
        for declared in model.modules()
        if isinstance(declared, Declared)
        for name, violations in zip(declared.names, declared(outputs, mask)[0].unbind(dim=1))
    }


def why(model: SealModel, score: str) -> str:
    """Explains the choice in a sentence or two."""
    structure = structure_of(model)
    if structure is None:
        return "The task-net predicts alone; what else is here had no say."
    option, chosen = _option(structure, score), structure.chosen[score]
    if option == OWN:
        return f"The task-net predicts alone: no choice by the energy is expected to gain {score}."
    if option == "likeliest":
        rules = any(one is not None for one in (structure.declared, structure.learned_rules))
        which = "likeliest output of those that keep the rules" if rules else "likeliest output"
        return f"Chosen is the {which}: that of the highest log-probability, scaled, less its energy."
    if option == _EXPECTED:
        return (
            f"Chosen is the output of the highest {_expected_name(score)}: of all that compete, each weighted by its "
            "probability, it has most in common with the others. Another may be likelier as a whole."
        )
    blend = chosen["blend"]
    own = f"{1 - blend:g} times the task-net's own, and {blend:g} times " if blend < 1 else ""
    return (
        f"Chosen is no single set, but each label whose probability is at least {chosen['threshold']:.3f}: "
        f"{own}the probability, before calibration, of all sets that have the label."
    )


def deciding_column(model: SealModel, score: str) -> Optional[str]:
    """The column of `scores_of` whose maximum is chosen; `None` if the choice follows none of them."""
    structure = structure_of(model)
    option = OWN if structure is None else _option(structure, score)
    names = {OWN: "log-probability", "likeliest": PROBABILITY, _EXPECTED: _expected_name(score)}
    return names.get(option)


def draws_of(model: SealModel, logits: torch.Tensor, number: int) -> torch.Tensor:
    """The task-net's best output and draws from its distribution, the same each time: `(1, 1 + number, ...)`."""
    space = model.output_space
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        draws = space.sample(logits, number)
    return space.stack(space.decode(logits).unsqueeze(1), draws)


def rows_of(columns: dict[str, torch.Tensor]) -> Iterator[dict[str, Optional[float]]]:
    """Yields the numbers of each output by column; `None` for a number that is not finite."""
    for values in zip(*(column.tolist() for column in columns.values())):
        yield dict(zip(columns, map(finite, values)))


def _option(structure: Structure, score: str) -> str:
    chosen = structure.chosen[score]
    return chosen if isinstance(chosen, str) else chosen["option"]


def _expected_name(score: str) -> str:
    return "expected accuracy" if score == "accuracy" else "expected F1"


def _words(energy: Any) -> str:
    """The name of a structure's term in words: `RoleCounts` is `role counts`."""
    name = type(energy).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
