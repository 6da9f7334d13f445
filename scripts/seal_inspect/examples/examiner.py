from collections.abc import Iterable
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from seal.tasks.base.seal_model import SealModel
from seal.two_player.objectives import TaskState
from seal_inspect.demo_alternatives import structure_of, why
from seal_inspect.findings import Choice, Findings
from seal_inspect.significance import Statistic
from seal_inspect.structure_choices import Weighed

NO_GOLD = "the data have no gold, with which predictions could be compared."


class Examiner:
    #: What has scores of its own.
    unit = ""

    def __init__(self, model: SealModel) -> None:
        self._model = model
        # Calibration is a part of what is found.
        model.with_probability = True
        self.found = Findings()
        self.found.unit = self.unit
        self.found.statistics = self.statistics()
        #: Whether the model has a learned structure.
        self._structured = structure_of(model) is not None
        if self._structured:
            self.found.why = why(model, self._main_score)

    @property
    def _main_score(self) -> str:
        """The score for which the structure decides."""
        return self._model.structure.main_score

    def statistics(self) -> dict[str, Statistic]:
        raise NotImplementedError

    def add(self, instances: list[Instance], batch: dict[str, Any]) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        pass

    def _choice(
        self, own: str, weighed: Weighed, own_counts: dict[str, float], counts: dict[str, float], known: bool
    ) -> Choice:
        """
        # Parameters

        own : `str`
            The task-net's own output, as text.
        own_counts, counts : `dict[str, float]`
            The contributions of the own and of the chosen output to the scores.
        known : `bool`
            Whether some output of the model represents gold.
        """
        self.found.own_counts.append(own_counts)
        of_gold, *others = weighed.energies
        energies = of_gold if known else None, *others
        return Choice(own, _nearness(own_counts), _nearness(counts), weighed.competes and known, *energies)

    @staticmethod
    def _probabilities(output: dict[str, torch.Tensor]) -> torch.Tensor:
        """The probability that each whole output is right, by the structure or, without one, by the task-net."""
        if "probability" in output:
            return output["probability"].double().cpu()
        return output["log_prob"].double().clamp(max=0).exp().cpu()

    def _numbers(self, state: TaskState, predicted: torch.Tensor) -> Iterable[dict[str, float]]:
        """The loss and the energies of each row."""
        if state.gold is None:
            raise ConfigurationError(NO_GOLD)
        columns: dict[str, list[float]] = {}
        if self._model.inference is None:
            losses = self._model.output_space.cross_entropy(state.logits, state.gold, state.mask)
            columns["loss"] = losses.tolist()
        if self._model.loss_net is not None:
            outputs = torch.stack([state.gold, predicted.to(state.gold)], dim=1)
            energies = self._model.energy(state, outputs).tolist()
            columns["energy_of_gold"], columns["energy_of_predicted"] = map(list, zip(*energies))
        return [dict(zip(columns, row)) for row in zip(*columns.values())] or [{} for _ in state.gold]


def _nearness(counts: dict[str, float]) -> float:
    """The score of an output from its counts, in percent: F1, or accuracy if there are no counts for F1."""
    if "f1" in counts:
        return 100 * counts["f1"]
    if "correct" not in counts:
        return 100 * counts["right"] / max(counts["tokens"], 1)
    sizes = counts["gold"] + counts["predicted"]
    return 200 * counts["correct"] / sizes if sizes else 100.0
