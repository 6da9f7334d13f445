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
from seal.structure.calibration import Calibration, Observed
from seal.structure.decisions import ExpectedScore
from seal.structure.fitting import fit, objective_of, reset
from seal.structure.gate import Verdict, gains_before, gate
from seal.structure.joint_score import (
    CandidateBatch,
    CandidateEnergy,
    JointScore,
    has_gold,
    log_prob_of,
    only_least_broken,
)
from seal.structure.linear_system import Objective
from seal.structure.scores import Ratio
from seal.structure.serialization import from_bytes, to_bytes

logger = logging.getLogger(__name__)

#: The weight of the L2 penalty, and whether energies that are products of parameters are kept.
Settings = tuple[float, bool]


class Structure(nn.Module, Registrable):
    """
    What chooses among whole outputs, on top of a task-net's scores: which outputs compete, their joint score, and the
    decision. It is learned by `fit` after the task-net, in seconds, and never by the trainer's optimizers.

    # Parameters

    energies : `Sequence[CandidateEnergy]`
    penalties : `Sequence[float]`, optional (default = `(1, 3, 10, 30, 100)`)
        The weights of the L2 penalty among which held-out likelihood chooses, one after the other until the next one is
        worse.
    declared : `Declared`, optional
        Constraints: an output that breaks one is chosen only where all that compete do, and then one that breaks them
        least. Of the task-net's own outputs, those that break one are replaced by its best one that keeps them.
    least : `float`, optional (default = `0.1`)
        As for `seal.structure.decisions.ExpectedScore`.
    """

    #: Of tasks, whose earlier data sets say what an option gains: a key of `PRIORS`.
    family: str
    #: What instances are called.
    instances: str
    #: The setting by which more outputs compete.
    more_candidates: str
    #: The score for which the likeliest output is the best one, if the joint score is right.
    exact_match = "exact_match"
    #: Whether penalties are tried from the largest on, and not from the least on.
    penalties_fall = False
    #: As for `fit`.
    tolerance = 1e-7
    #: Whether energies that are products of parameters are left out where they do not gain on held-out data.
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
        #: Rules like `declared`, of which `fit` found that the training data keep them.
        self.kept: Declared | None = None
        self.expected_score = ExpectedScore(least)
        self._violations: Counter = Counter()
        self.joint = JointScore(energies).requires_grad_(False)
        self.penalties = tuple(penalties)
        #: Whether the gate chooses the task-net's own output, whatever validation data say.
        self.is_shut = False
        #: What was chosen, by score; empty until `fit`.
        self.chosen: dict = {}
        #: What makes probabilities of joint scores; `None` where nothing was learned, or the gate is shut.
        self.calibration: Calibration | None = None
        # Whether `learn` had anything to learn from.
        self._learned = True

    @property
    def is_fitted(self) -> bool:
        return bool(self.chosen)

    def is_followed(self, score: str) -> bool:
        """Whether it is fitted, and the gate chose it for this score."""
        return self.is_fitted and self._follows(self.chosen[score])

    def _follows(self, chosen) -> bool:
        """Whether an entry of `chosen` says to predict other outputs than the task-net's own."""
        raise NotImplementedError

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(self._state())

    def set_extra_state(self, state: torch.Tensor) -> None:
        found = from_bytes(state)
        # Archives from before have what was chosen alone.
        self._set_state(found if "chosen" in found else {"chosen": found})

    def _state(self) -> dict:
        """What was found beside parameters, plain values."""
        calibration = None if self.calibration is None else self.calibration.state()
        return {"chosen": self.chosen, "calibration": calibration}

    def _set_state(self, state: dict) -> None:
        self.chosen = state["chosen"]
        # Structures that were learned by earlier versions have none.
        found = state.get("calibration")
        self.calibration = None if found is None else Calibration(**found)

    def probabilities(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        `q(y|x)` of the outputs that compete, `(batch, candidates)`: those of the joint score, which has learned from
        all outputs, without those that break a declared constraint. Decisions are made by it; how likely an output is
        to be gold is what `calibrated` says.
        """
        return self.joint_scores(candidates).softmax(dim=1)

    def joint_scores(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        The joint score of the outputs that compete, `(batch, candidates)`; `-inf` of those that break a declared
        constraint, and of fillers.
        """
        return self._by_rules(self.joint(candidates), candidates)

    @property
    def has_rules(self) -> bool:
        """Whether there are rules that outputs keep: declared ones, or those that the training data keep."""
        return self.declared is not None or self.kept is not None

    def _by_rules(self, score: torch.Tensor, candidates: CandidateBatch) -> torch.Tensor:
        """`score`, `(batch, candidates)`, with `-inf` for candidates that break a rule where others keep it."""
        for rules in filter(None, (self.declared, self.kept)):
            broken = [rules(*part.outputs_and_mask()).sum(dim=-1) for part in candidates.parts()]
            score = only_least_broken(score, torch.cat([part.expand(len(score), -1) for part in broken], dim=1))
        return score

    def own_candidate(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        The index of the likeliest candidate under the task-net among those that keep the rules, `(batch,)`; where all
        that compete break some, among those that break them least.
        """
        return self._by_rules(log_prob_of(candidates), candidates).argmax(dim=1)

    @torch.no_grad()
    def calibrated(self, candidates: CandidateBatch) -> torch.Tensor:
        """
        How likely each of the outputs that compete is to be gold, `(batch, candidates)`: as of `Calibration`, so that
        the sum is the probability that gold competes. Where there is no calibration, `q(y|x)`.
        """
        if self.calibration is None:
            return self.probabilities(candidates)
        score, log_prob = self.joint_scores(candidates), log_prob_of(candidates)
        return self.calibration.log_probabilities(score, log_prob).exp().to(score)

    def _calibrate(self, observed: Sequence[Observed]) -> dict:
        """Calibrates on the data by which the gate chooses. Returns what is to be reported, plain values."""
        self.calibration = None
        if not observed or not self._learned or self.is_shut:
            return {}
        self.calibration = Calibration.fit(Observed.joined(observed))
        return {"calibration": self.calibration.state()}

    @torch.no_grad()
    def terms(self, candidates: CandidateBatch) -> list[torch.Tensor]:
        """What each of `joint.energies` says of the outputs that compete: `(batch, candidates)` each, low is good."""
        return [
            torch.cat([energy(part).expand_as(part.log_prob) for part in candidates.parts()], dim=1)
            for energy in self.joint.energies
        ]

    @torch.no_grad()
    def expected_scores(self, candidates: CandidateBatch) -> torch.Tensor:
        """By which `expected_score` decides, `(batch, candidates)`, 0 to 1; NaN of candidates that it leaves out."""
        return self._expected(candidates, self.probabilities(candidates))

    def _expected(self, candidates: Any, q: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    # Constraints.

    def broken(self, outputs: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, float]:
        """
        For each declared constraint its violations, summed over `outputs`: `(batch, labels)`, or `(batch, tokens)`.
        """
        if self.declared is None:
            return {}
        sums = self.declared(outputs.unsqueeze(1), mask).sum(dim=(0, 1)).tolist()
        return dict(zip(self.declared.names, sums))

    def count_broken(self, outputs: torch.Tensor, own: torch.Tensor, mask: torch.Tensor | None = None) -> None:
        """Adds the violations of a batch of predictions, and of the task-net's own, to those of `violations`."""
        for suffix, these in (("", outputs), ("_own", own)):
            broken = self.broken(these, mask).items()
            self._violations.update({f"violations_{name}{suffix}": number for name, number in broken})

    def violations(self, reset: bool = False) -> dict[str, float]:
        """By constraint the violations that were counted, `violations_<name>` and `violations_<name>_own`."""
        found = dict(self._violations)
        if reset:
            self._violations.clear()
        return found

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
        Learns the joint score on `training`. `gold` has the training data's gold outputs as its only candidates. Where
        gold competes in no instance, nothing is learned, and the gate stays shut.

        Held-out likelihood on `validation` chooses the penalty, and, with `weighs_products`, whether energies that are
        products of parameters are kept, which can lose where they learn what training data have by chance: they are
        learned last, from the other energies' optimum on.

        # Parameters

        training, validation : `Sequence[CandidateBatch]`
        gold : `CandidateBatch`
        say : `Callable[[str], None]`, optional
            Is given a sentence of what came out; with `None` nothing is said.
        chosen : `Settings`, optional
            What an earlier call chose. Without it, validation data choose.
        restart : `bool`, optional (default = `True`)
            Whether to start at 0, or at the parameters that were learned before.

        # Returns

        `dict`
            `penalties`, what was tried; `scale`, `l2` and `left_out`, the names of energies that are left out.
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
        found: list[dict] = []
        if chosen is not None:
            l2, products = chosen
            loss = fit(self.joint, objective, l2, restart=restart, tolerance=self.tolerance, products=products)
            found.append({"l2": l2, "loss": loss, "scale": self.joint.scale.item()})
        else:
            l2, products = self._search(objective, validation, restart, found)
        self.joint.requires_grad_(False)
        self.joint.eval()
        left_out = [] if products else [energy_name(energy) for energy in self.joint.energies if energy.factors]
        scale = self.joint.scale.item()
        if say is not None:
            told = f", without {', '.join(left_out)}" if left_out else ""
            say(f"The energy is learned{told}: scale of the log-probability {scale:.2f}, L2 {l2:g}.")
        return {"penalties": found, "scale": scale, "l2": l2, "left_out": left_out}

    def _search(
        self, objective: Objective, validation: Sequence[CandidateBatch], restart: bool, found: list[dict]
    ) -> Settings:
        """Learns with each of some settings, one after the other; the best one's parameters stay. Fills `found`."""
        best: dict = {}
        weights: dict[str, torch.Tensor] = {}

        def is_better(l2: float, products: bool, restart: bool) -> bool:
            nonlocal best, weights
            loss = fit(self.joint, objective, l2, restart=restart, tolerance=self.tolerance, products=products)
            heldout = self._mean_loss(validation)
            found.append({"l2": l2, "loss": loss, "validation_loss": heldout, "scale": self.joint.scale.item()})
            if best and heldout >= best["validation_loss"]:
                return False
            best, weights = {**found[-1], "products": products}, copy.deepcopy(self.joint.state_dict())
            return True

        last = self.weighs_products and any(energy.factors for energy in self.joint.energies)
        for number, l2 in enumerate(sorted(self.penalties, reverse=self.penalties_fall)):
            if not is_better(l2, not last, restart and number == 0):
                break
        self.joint.load_state_dict(weights)
        if last and not is_better(best["l2"], True, False):
            self.joint.load_state_dict(weights)
        return best["l2"], best["products"]

    def _objective(self, parts: Sequence[CandidateBatch]) -> Objective:
        """What `learn` minimises."""
        return objective_of(self.joint, parts)

    @torch.no_grad()
    def _mean_loss(self, parts: Sequence[CandidateBatch]) -> float:
        """The mean of `-log q(gold|x)` over the instances whose gold competes; infinite where there is none."""
        count = sum(int(has_gold(part).sum()) for part in parts)
        return sum(float(self.joint.loss(part)) for part in parts) / count if count else float("inf")

    def _verdict(self, score: str, options: dict[str, Ratio], groups: torch.Tensor | None) -> Verdict:
        """What the gate chooses for a score; the first option is the task-net's own output."""
        earlier = gains_before(self.family, score, list(options)[1:])
        verdict = gate(options, earlier, groups, self._learned and not self.is_shut)
        logger.info("%s: %s", score, verdict.describe(score, self.instances))
        return verdict

    def _reasons(self, score: str, verdict: Verdict) -> dict[str, Any]:
        """Why this was chosen, plain values and a sentence."""
        return {**verdict.reasons(), "told": verdict.describe(score, self.instances)}


def energy_name(energy: CandidateEnergy) -> str:
    """By which a kind of energy is registered."""
    names = CandidateEnergy.list_available()
    return next((name for name in names if CandidateEnergy.by_name(name) is type(energy)), type(energy).__name__)


def declare(
    constraints: Sequence[Constraint] | None, labels: Sequence[str], sequences: bool, encoding: str | None = None
) -> Declared | None:
    """What `Structure` takes of the constraints in a config."""
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
        What the energies must be, where a task's are of one base.

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
