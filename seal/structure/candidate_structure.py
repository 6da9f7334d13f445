from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from seal.common.setting_checks import check_choice
from seal.constraints import Declared
from seal.registry import ConfigurationError
from seal.structure.decisions import Decision, ExpectedScore, Likeliest, Rows
from seal.structure.gate import gate
from seal.structure.joint_score import CandidateEnergy, Competing
from seal.structure.scores import Ratio
from seal.structure.structure import Structure, logger

#: The option of the gate that is the task-net's own output, the first candidate.
OWN = "own"
#: The score for which the likeliest output is the best one, if the joint score is right.
EXACT_MATCH = "exact_match"


class CandidateStructure(Structure):
    """
    The base of structures that choose among the task-net's best outputs. For each score the gate chooses the name of a
    decision, or `own`.

    # Parameters

    energies, penalties, level, declared, least, margin : as for `Structure`
    num_candidates : `int`
        So many outputs compete, at least 2.

    # Raises

    `ConfigurationError` if fewer than 2 outputs compete.
    """

    more_candidates = "structure.num_candidates"

    def __init__(
        self,
        energies: Sequence[CandidateEnergy],
        num_candidates: int,
        penalties: Sequence[float],
        level: float,
        declared: Declared | None = None,
        least: float = 0.1,
        margin: float | None = None,
    ) -> None:
        if num_candidates < 2:
            raise ConfigurationError(f"structure.num_candidates: at least 2 outputs compete, found {num_candidates}.")
        super().__init__(energies, penalties, level, declared, least, margin)
        self.num_candidates = num_candidates

    #: The scores for each of which the gate chooses a decision; the first is predicted for, if nothing else is said.
    scores: tuple[str, ...] = ("f1", EXACT_MATCH)
    _main_score: str | None = None

    @property
    def main_score(self) -> str:
        """The score for which outputs are predicted, one of `scores`."""
        return self._main_score or self.scores[0]

    @main_score.setter
    def main_score(self, score: str) -> None:
        check_choice("score", score, self.scores)
        self._main_score = score

    def _choose_decisions(self, options: Mapping[str, dict[str, Ratio]]) -> dict:
        """
        Lets the gate choose for each score among the `options`, of which `own` is the first. Returns what was chosen
        and why, plain values.
        """
        self.chosen, report = {}, {}
        for name, ratios in options.items():
            prior = Likeliest.name if name == EXACT_MATCH else None
            verdict = gate(ratios, self.level, self._learned, prior)
            logger.info("Decision for %s: %s", name, verdict)
            self.chosen[name] = verdict.chosen
            report[name] = {"option": verdict.chosen, **verdict.reasons()}
        return report

    def _decision(self, name: str) -> Decision:
        """The decision of this registered name, with this structure's settings."""
        return self.expected_score if name == ExpectedScore.name else Decision.by_name(name)()

    def _indices(self, competing: Competing, *decisions: Decision) -> list[torch.Tensor]:
        """The index of the candidate that each of the decisions chooses, `(batch,)`, at the cost of one."""
        q = self.probabilities(competing)
        return [decision.choose(q, partial(self.similarity, competing)) for decision in decisions]

    def similarity(self, competing: Any, kept: torch.Tensor, rows: Rows = slice(None)) -> torch.Tensor:
        """The `similarity` of `Decision.choose`: F1 or accuracy, 0 to 1."""
        raise NotImplementedError

    def _expected(self, competing: Any, q: torch.Tensor) -> torch.Tensor:
        return self.expected_score.scores(q, partial(self.similarity, competing))

    def uses_candidates(self, score: str | None = None) -> bool:
        """Whether the decision for `score`, by default the main one, is not the task-net's own output."""
        return self.is_followed(score or self.main_score)

    def _follows(self, chosen: str) -> bool:
        return chosen != OWN
