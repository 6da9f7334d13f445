from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from seal.common.setting_checks import check_choice, needed
from seal.constraints import Declared
from seal.registry import ConfigurationError
from seal.structure.calibration import Observed
from seal.structure.decisions import Decision, ExpectedScore, Likeliest, Rows
from seal.structure.joint_score import CandidateEnergy, Competing, has_gold
from seal.structure.scores import Ratio, gold_among_candidates
from seal.structure.structure import Structure

#: The option of the gate that is the task-net's own output, the first candidate.
OWN = "own"


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
    #: For a message: of what it is, and from what it is learned.
    kind: str
    instances: str

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
    scores: tuple[str, ...] = ("f1", Structure.exact_match)
    _main_score: str | None = None

    @property
    def main_score(self) -> str:
        """The score for which outputs are predicted, one of `scores`."""
        return self._main_score or self.scores[0]

    @main_score.setter
    def main_score(self, score: str) -> None:
        check_choice("score", score, self.scores)
        self._main_score = score

    # Learning.

    def competing(self, outputs: Any, own: bool = False) -> Any:
        """As the energies see them; `own`: of training data, so that counts leave out an instance's own gold."""
        raise NotImplementedError

    def fit(self, training: Sequence[Any], validation: Sequence[Any]) -> dict:
        """
        Learns the energies, and lets the gate choose a decision for each score.

        # Parameters

        training : `Sequence[TagPaths]` or `Sequence[TreeCandidates]`
            With gold; the outputs of nets that have not seen the instance.
        validation : as `training`
            With gold; the outputs of the final task-net.

        # Returns

        `dict`
            What was learned and chosen, plain values.

        # Raises

        `ConfigurationError` if there is no instance to learn from.
        """
        if sum(len(part.log_prob) for part in training) == 0:
            raise ConfigurationError(
                f"The structure of {self.kind} is learned from {self.instances}, and there is none."
            )
        gold, declared = self._read(training)
        competing = [self.competing(part) for part in validation]
        report = {**self.learn([self.competing(part, own=True) for part in training], gold, competing), **declared}
        with torch.no_grad():
            likeliest, expected = zip(*(self._indices(part, Likeliest(), self.expected_score) for part in competing))
        chosen = {Likeliest.name: likeliest, ExpectedScore.name: expected}
        first = [needed(part.gold, "gold") == index for part, index in zip(competing, likeliest)]
        found = gold_among_candidates(torch.cat([has_gold(part) for part in competing]), torch.cat(first))
        return {**report, **self._choose(validation, competing, chosen), **found, **self._calibrate_on(competing)}

    @torch.no_grad()
    def _calibrate_on(self, validation: Sequence[Competing]) -> dict:
        return self._calibrate(
            [Observed.of(self.joint_scores(part), part.log_prob, needed(part.gold, "gold")) for part in validation]
        )

    def _read(self, training: Sequence[Any]) -> tuple[Competing, dict]:
        """
        Gold of the training data as the only candidates, of all in one; and what is to be reported of what these keep.
        """
        raise NotImplementedError

    def _choose(self, validation: Sequence[Any], competing: Sequence[Any], chosen: dict[str, Any]) -> dict:
        """
        Lets the gate choose, and returns what is to be reported. `chosen` has by the name of each decision the index of
        its candidate, `(batch,)` for each part of the data.
        """
        raise NotImplementedError

    def _choose_decisions(self, options: Mapping[str, dict[str, Ratio]]) -> dict:
        """
        Lets the gate choose for each score among the `options`, of which `own` is the first. Returns what was chosen
        and why, plain values.
        """
        verdicts = {name: self._verdict(name, ratios) for name, ratios in options.items()}
        self.chosen = {name: verdict.chosen for name, verdict in verdicts.items()}
        return {name: {"option": verdict.chosen, **verdict.reasons()} for name, verdict in verdicts.items()}

    # Prediction.

    def _decision(self, name: str) -> Decision:
        """The decision of this registered name, with this structure's settings."""
        return self.expected_score if name == ExpectedScore.name else Decision.by_name(name)()

    def _indices(self, competing: Competing, *decisions: Decision) -> list[torch.Tensor]:
        """The index of the candidate that each of the decisions chooses, `(batch,)`, at the cost of one."""
        q = self.probabilities(competing)
        return [decision.choose(q, partial(self.similarity, competing)) for decision in decisions]

    @torch.no_grad()
    def choose(
        self, outputs: Any, score: str | None = None, with_probability: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """
        Chooses by the decision for `score`, by default the main one.

        # Parameters

        outputs : `TagPaths` or `TreeCandidates`
        score : `str`, optional
        with_probability : `bool`, optional (default = `False`)
            Whether the second result is wanted where the decision itself does not need the joint scores.

        # Returns

        index : `torch.LongTensor`, `(batch,)`
            That of the chosen candidate.
        probability : `torch.Tensor`, `(batch,)`, optional
            How likely this candidate is to be gold, calibrated; `None` where there is no calibration.
        """
        followed, calibration = self.uses_candidates(score), self.calibration
        index = torch.zeros(len(outputs.log_prob), dtype=torch.long, device=outputs.log_prob.device)
        if not followed and (calibration is None or not with_probability):
            return index, None
        competing = self.competing(outputs)
        joint = self.joint_scores(competing)
        if followed:
            decision = self._decision(self.chosen[score or self.main_score])
            index = decision.choose(joint.softmax(dim=1), partial(self.similarity, competing))
        if calibration is None or not with_probability:
            return index, None
        found = calibration.log_probabilities(joint, competing.log_prob).exp()
        return index, found.gather(1, index.unsqueeze(1)).squeeze(1)

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
