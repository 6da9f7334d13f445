"""`Structure`, the base of structures: candidates, their joint score, the gate, and how the energies are learned."""

import copy
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import nn

from seal.constraints import Constraint, Declared
from seal.registry import ConfigurationError, Registrable
from seal.structure.calibration import Calibration, CalibrationData
from seal.structure.decisions import ExpectedScore
from seal.structure.fitting import fit, objective_of, reset
from seal.structure.gate import Verdict, gains_before, gate
from seal.structure.joint_score import (
    CandidateBatch,
    CandidateEnergy,
    JointScore,
    has_gold,
    log_prob_of,
    mask_rule_breakers,
)
from seal.structure.linear_system import Objective
from seal.structure.scores import Ratio
from seal.structure.serialization import from_bytes, to_bytes

logger = logging.getLogger(__name__)

#: The weight of the L2 penalty, and whether energies that are products of parameters are kept.
Settings = tuple[float, bool]


class Structure(nn.Module, Registrable):
    """
    Reranks a task-net's candidates, which are whole outputs: gives each a joint score, and chooses one by a decision.
    `fit` learns it after the task-net, in seconds; the trainer's optimizers leave it alone.

    # Parameters

    energies : `Sequence[CandidateEnergy]`
    penalties : `Sequence[float]`, optional (default = `(1, 3, 10, 30, 100)`)
        The weights of the L2 penalty. They are tried one after the other until held-out likelihood falls.
    declared : `Declared`, optional
        Constraints. A candidate that breaks one is chosen only where all candidates break some, and then the candidate
        that breaks them least. Where the task-net's own output breaks one, its best candidate that keeps them replaces
        it.
    least : `float`, optional (default = `0.1`)
        As for `seal.structure.decisions.ExpectedScore`.
    """

    #: The family of tasks, a key of `PRIORS`: the gains of its earlier data sets are the gate's prior.
    family: str
    #: The plural of the name of an instance, for messages.
    instances: str
    #: The setting that raises the number of candidates, for messages.
    more_candidates: str
    #: The score for which the likeliest output is the best one, if the joint score is right.
    exact_match = "exact_match"
    #: Whether penalties are tried in descending order; else in ascending order.
    penalties_fall = False
    #: The tolerance of `seal.structure.fitting.fit`.
    tolerance = 1e-7
    #: Whether energies that are products of parameters are left out where held-out data gain nothing by them.
    weighs_products = False

    def __init__(
        self,
        energies: Sequence[CandidateEnergy],
        penalties: Sequence[float] = (1.0, 3.0, 10.0, 30.0, 100.0),
        declared: Declared | None = None,
        least: float = 0.1,
    ) -> None:
        super().__init__()
        self.declared = declared
        #: Rules that `fit` learned from the training data. They are applied like `declared`.
        self.learned_rules: Declared | None = None
        self.expected_score = ExpectedScore(least)
        self._violations: Counter = Counter()
        self.joint = JointScore(energies).requires_grad_(False)
        self.penalties = tuple(penalties)
        #: If true, the gate always chooses the task-net's own output.
        self.is_shut = False
        #: The gate's choice for each score; empty until `fit`.
        self.chosen: dict = {}
        #: Turns joint scores into probabilities; `None` where nothing was learned, or the gate is shut.
        self.calibration: Calibration | None = None
        # Whether gold was a candidate of any training instance of `learn`.
        self._learned = True

    def __setstate__(self, state: dict) -> None:
        # Pickles from before 0.2.0 have the name `kept`.
        for values in (state, state["_modules"]):
            if "kept" in values:
                values["learned_rules"] = values.pop("kept")
        super().__setstate__(state)

    @property
    def is_fitted(self) -> bool:
        return bool(self.chosen)

    def is_followed(self, score: str) -> bool:
        """Whether the structure is fitted, and the gate chose it for this score."""
        return self.is_fitted and self._follows(self.chosen[score])

    def _follows(self, chosen) -> bool:
        """True if this entry of `self.chosen` is an option other than the task-net's own output."""
        raise NotImplementedError

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(self._state())

    def set_extra_state(self, state: torch.Tensor) -> None:
        values = from_bytes(state)
        # Older archives hold only the value of "chosen".
        self._set_state(values if "chosen" in values else {"chosen": values})

    def _state(self) -> dict:
        """The choices of the gate and the calibration, as plain values, for the state dict."""
        calibration = None if self.calibration is None else self.calibration.state()
        return {"chosen": self.chosen, "calibration": calibration}

    def _set_state(self, state: dict) -> None:
        self.chosen = state["chosen"]
        # Structures of earlier versions have no calibration.
        calibration = state.get("calibration")
        self.calibration = None if calibration is None else Calibration(**calibration)

    def probabilities(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        `q(y|x)` of the candidates, `(batch, candidates)`: the softmax of `joint_scores`, 0 for candidates that break a
        rule. Decisions use it. It is uncalibrated; `calibrated` gives the probability that a candidate is gold.
        """
        return self.joint_scores(candidates).softmax(dim=1)

    def joint_scores(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        The joint score of each candidate, `(batch, candidates)`; `-inf` for candidates that break a rule which another
        candidate keeps, and for fillers.
        """
        return self._mask_rule_breakers(self.joint(candidates), candidates)

    @property
    def has_rules(self) -> bool:
        """Whether there are rules for outputs: declared constraints, or rules that `fit` learned."""
        return self.declared is not None or self.learned_rules is not None

    def _mask_rule_breakers(self, score: torch.Tensor, candidates: CandidateBatch) -> torch.Tensor:
        """`score`, `(batch, candidates)`, with `-inf` for candidates that break a rule which another one keeps."""
        for rules in filter(None, (self.declared, self.learned_rules)):
            broken = [rules(*part.outputs_and_mask()).sum(dim=-1) for part in candidates.parts()]
            score = mask_rule_breakers(score, torch.cat([part.expand(len(score), -1) for part in broken], dim=1))
        return score

    def task_net_candidate(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        The index of the likeliest candidate under the task-net among those that keep the rules, `(batch,)`; where all
        candidates break some, among those that break them least.
        """
        return self._mask_rule_breakers(log_prob_of(candidates), candidates).argmax(dim=1)

    @torch.no_grad()
    def calibrated(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        The probability that each candidate is gold, `(batch, candidates)`, by `Calibration`. Each row sums to the
        probability that gold is among the candidates. Without a calibration, `q(y|x)`.
        """
        if self.calibration is None:
            return self.probabilities(candidates)
        score, log_prob = self.joint_scores(candidates), log_prob_of(candidates)
        return self.calibration.log_probabilities(score, log_prob).exp().to(score)

    def _calibrate(self, observed: Sequence[CalibrationData]) -> dict:
        """Fits the calibration to the gate's validation data. Returns its part of the report, plain values."""
        self.calibration = None
        if not observed or not self._learned or self.is_shut:
            return {}
        self.calibration = Calibration.fit(CalibrationData.joined(observed))
        return {"calibration": self.calibration.state()}

    @torch.no_grad()
    def terms(self, candidates: CandidateBatch) -> list[torch.Tensor]:
        """The value of each of `joint.energies` for each candidate: `(batch, candidates)` each, low is good."""
        return [
            torch.cat([energy(part).expand_as(part.log_prob) for part in candidates.parts()], dim=1)
            for energy in self.joint.energies
        ]

    @torch.no_grad()
    def expected_scores(self, candidates: CandidateBatch) -> torch.Tensor:
        """The expected score of each candidate, `(batch, candidates)`, 0 to 1; NaN where `expected_score` skips it."""
        return self._expected(candidates, self.probabilities(candidates))

    def _expected(self, candidates: Any, q: torch.Tensor) -> torch.Tensor:
        """`expected_scores` under the probabilities `q`, `(batch, candidates)`."""
        raise NotImplementedError

    # Constraints.

    def broken(self, outputs: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, float]:
        """
        The violations of each declared constraint by its name, summed over the batch. `outputs` is `(batch, labels)`,
        or `(batch, tokens)`.
        """
        if self.declared is None:
            return {}
        sums = self.declared(outputs.unsqueeze(1), mask).sum(dim=(0, 1)).tolist()
        return dict(zip(self.declared.names, sums))

    def count_broken(self, outputs: torch.Tensor, own: torch.Tensor, mask: torch.Tensor | None = None) -> None:
        """Adds the violations of a batch of predictions, and of the task-net's own outputs, to `violations`."""
        for suffix, predictions in (("", outputs), ("_own", own)):
            broken = self.broken(predictions, mask).items()
            self._violations.update({f"violations_{name}{suffix}": number for name, number in broken})

    def violations(self, reset: bool = False) -> dict[str, float]:
        """The sums of `count_broken` for each constraint: `violations_<name>` and `violations_<name>_own`."""
        violations = dict(self._violations)
        if reset:
            self._violations.clear()
        return violations

    # Learning.

    def learn(
        self,
        training: Sequence[CandidateBatch],
        gold: CandidateBatch,
        validation: Sequence[CandidateBatch],
        say: Callable[[str], None] | None = logger.info,
        chosen: Settings | None = None,
        restart: bool = True,
    ) -> dict:
        """
        Learns the joint score on `training`. If gold is a candidate of no training instance, nothing is learned, and
        the gate keeps the task-net's own output.

        The likelihood of `validation` chooses the penalty. With `weighs_products` it also chooses whether to keep
        energies that are products of parameters, which may overfit: they are learned last, starting at the optimum of
        the other energies.

        # Parameters

        training, validation : `Sequence[CandidateBatch]`
        gold : `CandidateBatch`
            The gold outputs of the training data, as the only candidates; energies count in them.
        say : `Callable[[str], None]`, optional
            Gets a sentence about the result; with `None` nothing is logged.
        chosen : `Settings`, optional
            The choice of an earlier call, in place of a search on validation data.
        restart : `bool`, optional (default = `True`)
            Whether to start at 0; else at the present parameters.

        # Returns

        `dict`
            `penalties`, those that were tried, with their losses; `scale`, `l2` and `left_out`, the names of energies
            that are left out.
        """
        self.joint.requires_grad_(True)
        for energy in self.joint.energies:
            energy.prepare(gold)
        objective = self._objective(training)
        self._learned = objective.count > 0
        if not self._learned:
            reset(self.joint)
            self.joint.requires_grad_(False)
            if say is not None:
                logger.warning(
                    "The structure is not learned, and predictions stay the task-net's own: in none of the training "
                    "instances the gold output is among those that compete. More training data may have it; so may %s.",
                    self.more_candidates,
                )
            return {"penalties": [], "scale": 1.0, "l2": None, "left_out": []}
        trials: list[dict] = []
        if chosen is not None:
            l2, products = chosen
            loss = fit(self.joint, objective, l2, restart=restart, tolerance=self.tolerance, products=products)
            trials.append({"l2": l2, "loss": loss, "scale": self.joint.scale.item()})
        else:
            l2, products = self._search(objective, validation, restart, trials)
        self.joint.requires_grad_(False)
        self.joint.eval()
        left_out = [] if products else [energy_name(energy) for energy in self.joint.energies if energy.factors]
        scale = self.joint.scale.item()
        if say is not None:
            exceptions = f", without {', '.join(left_out)}" if left_out else ""
            say(f"The energy is learned{exceptions}: scale of the log-probability {scale:.2f}, L2 {l2:g}.")
        return {"penalties": trials, "scale": scale, "l2": l2, "left_out": left_out}

    def _search(
        self, objective: Objective, validation: Sequence[CandidateBatch], restart: bool, trials: list[dict]
    ) -> Settings:
        """
        Learns with one setting after the other, and leaves the parameters of the best. Appends each to `trials`.
        """
        best: dict = {}
        weights: dict[str, torch.Tensor] = {}

        def is_better(l2: float, products: bool, restart: bool) -> bool:
            nonlocal best, weights
            loss = fit(self.joint, objective, l2, restart=restart, tolerance=self.tolerance, products=products)
            heldout = self._mean_loss(validation)
            trials.append({"l2": l2, "loss": loss, "validation_loss": heldout, "scale": self.joint.scale.item()})
            if best and heldout >= best["validation_loss"]:
                return False
            best, weights = {**trials[-1], "products": products}, copy.deepcopy(self.joint.state_dict())
            return True

        products_last = self.weighs_products and any(energy.factors for energy in self.joint.energies)
        for number, l2 in enumerate(sorted(self.penalties, reverse=self.penalties_fall)):
            if not is_better(l2, not products_last, restart and number == 0):
                break
        self.joint.load_state_dict(weights)
        if products_last and not is_better(best["l2"], True, False):
            self.joint.load_state_dict(weights)
        return best["l2"], best["products"]

    def _objective(self, parts: Sequence[CandidateBatch]) -> Objective:
        """The function that `learn` minimises."""
        return objective_of(self.joint, parts)

    @torch.no_grad()
    def _mean_loss(self, parts: Sequence[CandidateBatch]) -> float:
        """The mean of `-log q(gold|x)` over the instances whose gold is a candidate; infinite if there are none."""
        count = sum(int(has_gold(part).sum()) for part in parts)
        return sum(float(self.joint.loss(part)) for part in parts) / count if count else float("inf")

    def _verdict(self, score: str, options: dict[str, Ratio], groups: torch.Tensor | None) -> Verdict:
        """The gate's verdict for a score; the first option is the task-net's own output."""
        earlier = gains_before(self.family, score, list(options))
        verdict = gate(options, earlier, groups, self._learned and not self.is_shut)
        logger.info("%s: %s", score, verdict.describe(score, self.instances))
        return verdict

    def _reasons(self, score: str, verdict: Verdict) -> dict[str, Any]:
        """The numbers behind a verdict, as plain values, and a sentence."""
        return {**verdict.reasons(), "told": verdict.describe(score, self.instances)}


def energy_name(energy: CandidateEnergy) -> str:
    """The registered name of an energy's class; the name of the class if it is not registered."""
    names = CandidateEnergy.list_available()
    return next((name for name in names if CandidateEnergy.by_name(name) is type(energy)), type(energy).__name__)


def declare(
    constraints: Sequence[Constraint] | None, labels: Sequence[str], sequences: bool, encoding: str | None = None
) -> Declared | None:
    """The argument `declared` of `Structure` from the constraints in a config."""
    return Declared(constraints, labels, sequences, encoding) if constraints else None


def make_energies(
    settings: Sequence[str | dict], size: int | list[str], kinds: type[CandidateEnergy] = CandidateEnergy
) -> list[CandidateEnergy]:
    """
    The energies of a config, such as `["set_count", {"type": "label_pairs", "rank": 4}]`.

    # Parameters

    settings : `Sequence[str | dict]`
        For each energy its registered name, alone or as `type` beside its settings.
    size : `int` or `list[str]`
        The number of labels or roles; the labels of constituents.
    kinds : `type[CandidateEnergy]`, optional (default = `CandidateEnergy`)
        The base class of the energies that are allowed.

    # Raises

    `ConfigurationError` if a name or a setting is not known.
    """
    known_kinds = {name: cast(type, CandidateEnergy.by_name(name)) for name in CandidateEnergy.list_available()}
    names = [name for name, kind in known_kinds.items() if issubclass(kind, kinds)]
    made = []
    for number, setting in enumerate(settings):
        options = {"type": setting} if isinstance(setting, str) else dict(setting)
        name = options.pop("type", None)
        if name not in names:
            known = ", ".join(sorted(names))
            raise ConfigurationError(f"structure.energies[{number}]: '{name}' is none of {known}.")
        kind: Callable[..., CandidateEnergy] = CandidateEnergy.by_name(name)
        taken = list(inspect.signature(kind).parameters)[1:]
        for option in options:
            if option not in taken:
                known = ", ".join(taken) or "none"
                raise ConfigurationError(
                    f"structure.energies[{number}]: '{name}' has no setting '{option}'; it has {known}."
                )
        made.append(kind(size, **options))
    return made
