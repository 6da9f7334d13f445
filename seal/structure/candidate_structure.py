"""`CandidateStructure`, the base of structures that rerank a k-best list of the task-net."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from seal.common.equal_contents import numbers_of_equal
from seal.common.setting_checks import check_choice, check_whole, require
from seal.constraints import Declared
from seal.registry import ConfigurationError
from seal.structure.calibration import CalibrationData
from seal.structure.decisions import Decision, ExpectedScore, Likeliest, Rows
from seal.structure.joint_score import CandidateBatch, CandidateEnergy, has_gold
from seal.structure.scores import Ratio, gold_among_candidates
from seal.structure.structure import Structure

#: The gate's option for the task-net's own output, which is the first candidate.
OWN = "own"


class CandidateStructure(Structure):
    """
    The base of structures that rerank a k-best list of the task-net. For each score the gate chooses the name of a
    decision, or `own`.

    # Parameters

    energies, penalties, declared, least : as for `Structure`
    num_candidates : `int`
        The length of the k-best list, at least 2.

    # Raises

    `ConfigurationError` if `num_candidates` is not a whole number of at least 2.
    """

    more_candidates = "structure.num_candidates"
    #: The kind of output, for messages.
    kind: str

    def __init__(
        self,
        energies: Sequence[CandidateEnergy],
        num_candidates: int,
        penalties: Sequence[float],
        declared: Declared | None = None,
        least: float = 0.1,
    ) -> None:
        check_whole("structure.num_candidates", num_candidates, least=2)
        super().__init__(energies, penalties, declared, least)
        self.num_candidates = num_candidates

    #: The gate chooses a decision for each of these scores. The first one is the default of `main_score`.
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

    def candidates(self, outputs: Any) -> Any:
        """The k-best lists (`TagPaths`, `KBestTrees`) as a batch for energies."""
        raise NotImplementedError

    def fit(self, training: Sequence[Any], validation: Sequence[Any]) -> dict:
        """
        Learns the energies, and lets the gate choose a decision for each score.

        # Parameters

        training : `Sequence[TagPaths]` or `Sequence[KBestTrees]`
            Held-out k-best lists with gold: each by a net that has not seen the instance.
        validation : as `training`
            K-best lists of the final task-net, with gold. If empty, the gains of earlier data sets decide.

        # Returns

        `dict`
            The report, plain values: what was learned and chosen.

        # Raises

        `ConfigurationError` if there is no instance to learn from.
        """
        if sum(len(part.log_prob) for part in training) == 0:
            raise ConfigurationError(
                f"The structure of {self.kind} is learned from {self.instances}, and there is none."
            )
        groups = self.groups_of(training)
        gold, declared = self._read(training, groups)
        candidates = [self.candidates(part) for part in validation]
        report = {**self.learn(self.training_candidates(training, gold, groups), gold, candidates), **declared}
        chosen = self._indices_of_options(candidates)
        validation_groups = self.groups_of(validation)
        verdicts = {
            score: self._verdict(score, options, validation_groups)
            for score, options in self._ratios(validation, candidates, chosen).items()
        }
        self.chosen = {name: verdict.chosen for name, verdict in verdicts.items()}
        report["decisions"] = {
            name: {"option": verdict.chosen, **self._reasons(name, verdict)} for name, verdict in verdicts.items()
        }
        none = torch.zeros(0, dtype=torch.bool)
        likeliest = zip(candidates, chosen[Likeliest.name])
        first = [require(part.gold, "gold") == index for part, index in likeliest]
        recall = gold_among_candidates(torch.cat([none, *map(has_gold, candidates)]), torch.cat([none, *first]))
        further = self._further(validation, candidates, chosen)
        return {**report, **further, **recall, **self._calibrate_on(candidates)}

    @torch.no_grad()
    def _calibrate_on(self, validation: Sequence[CandidateBatch]) -> dict:
        return self._calibrate(
            [
                CalibrationData.of(self.joint_scores(part), part.log_prob, require(part.gold, "gold"))
                for part in validation
            ]
        )

    def options(self, parts: Sequence[Any]) -> dict[str, dict[str, Ratio]]:
        """For each score, the score of each option on data with gold; the first option is `own`."""
        candidates = [self.candidates(part) for part in parts]
        return self._ratios(parts, candidates, self._indices_of_options(candidates))

    def _indices_of_options(self, candidates: Sequence[Any]) -> dict[str, list[torch.Tensor]]:
        """For each option the indices of the candidates that it chooses, `(batch,)` for each batch."""
        indices: dict[str, list[torch.Tensor]] = {OWN: [], Likeliest.name: [], ExpectedScore.name: []}
        for part in candidates:
            part_indices = self._own_indices(part), *self._indices(part, Likeliest(), self.expected_score)
            for option_indices, index in zip(indices.values(), part_indices):
                option_indices.append(index)
        return indices

    @staticmethod
    def groups_of(parts: Sequence[Any]) -> torch.Tensor:
        """A number for each instance, `(instances,)`, equal for equal inputs, whatever their case."""
        return torch.from_numpy(numbers_of_equal(content for part in parts for content in part.inputs()))

    def _read(self, training: Sequence[Any], groups: torch.Tensor) -> tuple[CandidateBatch, dict]:
        """
        One batch of all training instances with gold as the only candidate of each; and the report about rules that
        were found in them.
        """
        raise NotImplementedError

    def training_candidates(self, training: Sequence[Any], gold: Any, groups: torch.Tensor) -> list[Any]:
        """
        The batches from which the energies learn. Their counts, which come from all of `gold`, leave out the gold of an
        instance's group.
        """
        raise NotImplementedError

    def _ratios(
        self, parts: Sequence[Any], candidates: Sequence[Any], chosen: dict[str, list[torch.Tensor]]
    ) -> dict[str, dict[str, Ratio]]:
        """The result of `options`, given the result `chosen` of `_indices_of_options`."""
        raise NotImplementedError

    def _further(
        self, validation: Sequence[Any], candidates: Sequence[Any], chosen: dict[str, list[torch.Tensor]]
    ) -> dict:
        """Further entries of the report."""
        return {}

    # Prediction.

    def _decision(self, name: str) -> Decision:
        """The decision of this registered name, with this structure's settings."""
        return self.expected_score if name == ExpectedScore.name else Decision.by_name(name)()

    @torch.no_grad()
    def _indices(self, candidates: CandidateBatch, *decisions: Decision) -> list[torch.Tensor]:
        """For each decision the index of the candidate that it chooses, `(batch,)`; `q(y|x)` is computed once."""
        q = self.probabilities(candidates)
        return [decision.choose(q, partial(self.similarity, candidates)) for decision in decisions]

    @torch.no_grad()
    def choose(
        self, outputs: Any, score: str | None = None, with_probability: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """
        Chooses a candidate by the decision for `score`, by default the main score.

        # Parameters

        outputs : `TagPaths` or `KBestTrees`
        score : `str`, optional
        with_probability : `bool`, optional (default = `False`)
            Whether to compute `probability`.

        # Returns

        index : `torch.LongTensor`, `(batch,)`
            The index of the chosen candidate.
        probability : `torch.Tensor`, `(batch,)`, optional
            The calibrated probability that this candidate is gold; `None` without a calibration, or if it was not
            asked for.
        """
        option, calibration = self.chosen.get(score or self.main_score, OWN), self.calibration
        needs_probability = with_probability and calibration is not None
        if not needs_probability and not self.uses_candidates(score):
            return torch.zeros(len(outputs.log_prob), dtype=torch.long, device=outputs.log_prob.device), None
        candidates = self.candidates(outputs)
        joint = self.joint_scores(candidates) if needs_probability or option != OWN else None
        if option == OWN:
            index = self._own_indices(candidates)
        else:
            q = require(joint, "joint").softmax(dim=1)
            index = self._decision(option).choose(q, partial(self.similarity, candidates))
        if calibration is None or joint is None or not with_probability:
            return index, None
        probabilities = calibration.log_probabilities(joint, candidates.log_prob).exp()
        return index, probabilities.gather(1, index.unsqueeze(1)).squeeze(1)

    def _own_indices(self, candidates: CandidateBatch) -> torch.Tensor:
        """The index of the task-net's own output, or of its best candidate that keeps the rules: `(batch,)`."""
        if not self.has_rules:
            return torch.zeros(len(candidates.log_prob), dtype=torch.long, device=candidates.log_prob.device)
        return self.task_net_candidate(candidates)

    def similarity(self, candidates: Any, indices: torch.Tensor, rows: Rows = slice(None)) -> torch.Tensor:
        """The argument `similarity` of `Decision.choose`: F1 or accuracy, 0 to 1."""
        raise NotImplementedError

    def _expected(self, candidates: Any, q: torch.Tensor) -> torch.Tensor:
        return self.expected_score.scores(q, partial(self.similarity, candidates))

    def uses_candidates(self, score: str | None = None) -> bool:
        """
        Whether predictions for `score`, by default the main score, need the candidates: the gate chose a decision, or
        there are rules that the task-net's own output may break.
        """
        return self.is_followed(score or self.main_score) or (self.is_fitted and self.has_rules)

    def _follows(self, chosen: str) -> bool:
        return chosen != OWN
