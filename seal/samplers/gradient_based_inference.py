"""The sampler `gradient_based_inference`: gradient descent on the energy of relaxed outputs."""

import inspect
from collections.abc import Callable
from typing import Any, Optional, Union

import torch

from seal.common.precision import at_least_float
from seal.common.setting_checks import abbreviate, check_choice, check_range, require
from seal.losses.energy_loss import regression_loss
from seal.output_spaces import CONSTANT, Candidates
from seal.registry import ConfigurationError
from seal.samplers.sampler import Sampler, SamplingProblem
from seal.scores import Cost, L1Cost, Score, SoftF1

#: torch's optimizers that update every element separately: an instance's result does not depend on the others of its
#: batch.
OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "rmsprop": torch.optim.RMSprop,
    "asgd": torch.optim.ASGD,
    "rprop": torch.optim.Rprop,
}
# Arguments of their constructors that are given otherwise, would go up, or concern the implementation.
_NOT_SET = {"self", "params", "lr", "maximize", "foreach", "capturable", "differentiable", "fused"}


class ElementwiseOptimizer:
    """
    Makes the optimizers of descents over outputs, a new one for each.

    # Parameters

    given : `Union[str, dict[str, Any]]`
        A name in `OPTIMIZERS`, or an object of it, as `type`, and arguments of its constructor.
    step_size : `float`
        The learning rate, above 0.
    where : `str`
        The beginning of messages: what the optimizer is set for.

    # Raises

    `ConfigurationError` for an unknown name, or an argument that the optimizer does not have or cannot take.
    """

    def __init__(self, given: Union[str, dict[str, Any]], step_size: float, where: str) -> None:
        if not isinstance(given, (str, dict)):
            raise ConfigurationError(f"{where}: optimizer is a name or an object with a type, not {abbreviate(given)}.")
        self._arguments: dict[str, Any] = {} if isinstance(given, str) else dict(given)
        self.name = given if isinstance(given, str) else self._arguments.pop("type", None)
        self._step_size = step_size
        check_choice(f"{where}: optimizer", self.name, tuple(OPTIMIZERS))
        known = [name for name in inspect.signature(OPTIMIZERS[self.name]).parameters if name not in _NOT_SET]
        for name in self._arguments:
            if name not in known:
                hint = "; it is given by step_size" if name == "lr" else f"; it has {', '.join(known)}"
                raise ConfigurationError(f"{where}: optimizer.{name} is not a setting of '{self.name}' here{hint}.")
        try:
            self.new(torch.zeros(1))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"{where}: optimizer has a wrong value for '{self.name}': {error}.") from error

    def new(self, point: torch.Tensor) -> torch.optim.Optimizer:
        """An optimizer of `point`, which knows of no earlier step."""
        return OPTIMIZERS[self.name]([point], lr=self._step_size, **self._arguments)


class DescentRecord:
    """
    Is shown each iterate of a descent, and turns them into candidates at the end. It is made from the first iterate,
    `outputs (batch, starts, *structure)`.
    """

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        """
        # Parameters

        outputs : `torch.Tensor`, `(batch, starts, *structure)`
            An iterate other than the last; nothing may change it afterwards.
        value : `torch.Tensor`, `(batch, starts)`
            Its objective, without gradient.
        """
        raise NotImplementedError

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        """
        # Parameters

        outputs : `torch.Tensor`, `(batch, starts, *structure)`
            The last iterate.
        objective : `Callable[[torch.Tensor], torch.Tensor]`
            Gives the objective of outputs, for a record that needs the last one's.

        # Returns

        `Candidates`
            Constants: where the descent ends is not differentiated, wherever it started.
        """
        raise NotImplementedError


class LastPoint(DescentRecord):
    """The last iterate of each start; NaN if the objective was finite at no earlier iterate."""

    def __init__(self, outputs: torch.Tensor) -> None:
        self._reached = torch.zeros(outputs.shape[:2], dtype=torch.bool, device=outputs.device)

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        self._reached |= value.isfinite()

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        return _constants(torch.where(of_each(self._reached, outputs), outputs, torch.nan))


class BestPoint(DescentRecord):
    """
    The iterate with the lowest finite objective over all starts and steps, the first and the last included: one
    candidate, NaN if the objective is finite nowhere.
    """

    def __init__(self, outputs: torch.Tensor) -> None:
        self._best = torch.full_like(outputs, torch.nan)
        self._least = torch.full(outputs.shape[:2], torch.inf, dtype=outputs.dtype, device=outputs.device)

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        lower = (value < self._least) & value.isfinite()
        self._best = torch.where(of_each(lower, outputs), outputs, self._best)
        self._least = torch.where(lower, value, self._least)

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        self.see(outputs, objective(outputs))
        winner = self._least.argmin(dim=1)
        return _constants(self._best[torch.arange(len(winner), device=winner.device), winner].unsqueeze(1))


class Trajectory(LastPoint):
    """
    All iterates, in order; NaN for a start whose objective was finite at no iterate before the last.

    # Parameters

    outputs : as for `DescentRecord`
    length : `int`
        The number of iterates with the first and the last. Where a descent ends earlier, since further steps would
        change nothing, the last one is repeated.
    """

    def __init__(self, outputs: torch.Tensor, length: int) -> None:
        super().__init__(outputs)
        self._length = length
        self._iterates: list[torch.Tensor] = []

    def see(self, outputs: torch.Tensor, value: torch.Tensor) -> None:
        super().see(outputs, value)
        self._iterates.append(outputs)

    def result(self, outputs: torch.Tensor, objective: Callable[[torch.Tensor], torch.Tensor]) -> Candidates:
        iterates = self._iterates + [outputs] * (self._length - len(self._iterates))
        nowhere = ~of_each(self._reached, outputs)
        return _constants(torch.cat([iterate.masked_fill(nowhere, torch.nan) for iterate in iterates], dim=1))


def of_each(flags: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    """`flags`, `(batch, starts)`, viewed with as many dimensions as `outputs`."""
    return flags.view(*flags.shape, *[1] * (outputs.dim() - 2))


def _constants(outputs: torch.Tensor) -> Candidates:
    return Candidates(outputs, sources=(CONSTANT,) * outputs.shape[1])


CHOICES = {
    "space": ("clip", "logit"),
    "start": ("zeros", "half", "random", "task_net", "draw", "gold"),
    "objective": ("energy", "cost_augmented", "adversarial"),
    "keep": ("last", "best", "trajectory"),
}


@Sampler.register("gradient_based_inference")
class GradientBasedInference(Sampler):
    """
    Gradient descent on an objective `J` over relaxed outputs, `y <- Proj(y - step_size dJ/dy)` (SEAL, NeurIPS 2022,
    sections 1 to 3). Only the outputs are optimized: no parameter gets a gradient, and the result has none. It is the
    inference of energy-only models, and the source of their loss-net's candidates.

    # Parameters

    num_steps : `int`, optional (default = `20`)
        At least 1.
    step_size : `float`, optional (default = `0.5`)
        The optimizer's learning rate, in units of outputs, or of logits with `space` `"logit"`; above 0.
    optimizer : `Union[str, dict[str, Any]]`, optional (default = `"sgd"`)
        torch's `"sgd"`, `"adam"`, `"adamw"`, `"adamax"`, `"nadam"`, `"radam"`, `"adagrad"`, `"adadelta"`, `"rmsprop"`,
        `"asgd"` or `"rprop"`; or an object of the `type` and arguments of its constructor other than the learning
        rate, such as `{"type": "sgd", "momentum": 0.9}`. Every search begins with a new one. A weight decay, which
        `"adamw"` has by default, draws what is updated towards 0.
    space : `str`, optional (default = `"clip"`)
        `"clip"` updates the outputs and projects them onto the relaxed space after each step. `"logit"` updates
        logits, whose relaxation the outputs are. Logits of confident outputs hardly move with `"sgd"`: take
        `"adam"`.
    start : `str`, optional (default = `"zeros"`)
        `"zeros"` (for tag sequences, where the probabilities of a token add up to 1, the same as `"half"`), `"half"`
        (the relaxation of logits of 0), `"random"` (uniform in [0, 1]), `"task_net"` (its relaxed output), `"draw"`
        (from its distribution) or `"gold"` (for training alone, as it reveals what is to be predicted).
        With `space` `"logit"`, probabilities below 0.001 start there, where their logits can move.
    restarts : `int`, optional (default = `1`)
        The number of starts of an instance, which run in parallel; more than 1 only with `"random"` or `"draw"`.
    objective : `str`, optional (default = `"energy"`)
        `"energy"`: `E(x, y')`. `"cost_augmented"`: `E(x, y') - Delta(y', y)`, for the candidate of the margin
        loss. `"adversarial"`: minus the regression loss of `y'`, for the candidate that a deep value network is
        most wrong about.
    keep : `str`, optional (default = `"last"`)
        `"last"`: the last iterate of each start, `restarts` candidates. `"best"`: the one of the least `J` among all
        iterates of all starts, including the first and the last, 1 candidate. `"trajectory"`: all iterates, in
        order, `restarts * (num_steps + 1)` candidates. `"best"` ignores iterates where `J` is not finite; if there is
        no other, the candidate is NaN. With the other two, the candidates of a start are NaN if its `J` was finite at
        no iterate before the last.
    tolerance : `float`, optional (default = `0.0`)
        A candidate stays as it is once a step has changed each of its variables by less than this; when all
        candidates stay, the descent ends. With 0 all steps are taken.
    cost : `Cost`, optional (default = `L1Cost()`)
        `Delta`, with the objective `"cost_augmented"`.
    score : `Score`, optional (default = `SoftF1()`)
        The score in the regression loss, with the objective `"adversarial"`.

    # Raises

    `ConfigurationError` for any other value, and where there is no loss-net, or no gold where it is needed.
    `NotImplementedError` for an output space without the projection, or without the way back to logits.
    """

    def __init__(
        self,
        num_steps: int = 20,
        step_size: float = 0.5,
        optimizer: Union[str, dict[str, Any]] = "sgd",
        space: str = "clip",
        start: str = "zeros",
        restarts: int = 1,
        objective: str = "energy",
        keep: str = "last",
        tolerance: float = 0.0,
        cost: Optional[Cost] = None,
        score: Optional[Score] = None,
    ) -> None:
        super().__init__()
        self.num_steps, self.step_size, self.tolerance = num_steps, step_size, tolerance
        self.space, self.start = space, start
        self.restarts, self.objective, self.keep = restarts, objective, keep
        for name, choices in CHOICES.items():
            check_choice(f"gradient_based_inference: {name}", getattr(self, name), choices)
        check_range("gradient_based_inference: num_steps", num_steps, least=1)
        check_range("gradient_based_inference: step_size", step_size, above=0)
        check_range("gradient_based_inference: tolerance", tolerance, least=0)
        if restarts < 1 or (restarts > 1 and start not in ("random", "draw")):
            raise ConfigurationError(
                f"gradient_based_inference: restarts is {restarts} with start '{start}'; 1, or more with start "
                "'random' or 'draw', the others being the same every time."
            )
        for name, value, user in (("cost", cost, "cost_augmented"), ("score", score, "adversarial")):
            if value is not None and objective != user:
                raise ConfigurationError(
                    f"gradient_based_inference: {name} is for the objective '{user}', not '{objective}'."
                )
        self._optimizer = ElementwiseOptimizer(optimizer, step_size, "gradient_based_inference")
        self.cost, self.score = cost or L1Cost(), score or SoftF1()
        #: Whether the objective or the start is a function of gold; such a sampler cannot predict.
        self.needs_gold = objective != "energy" or start == "gold"
        single = keep == "best" or (keep == "last" and restarts == 1)
        self.predicts = single and not self.needs_gold
        self.needs_task_net = start in ("task_net", "draw")

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        if problem.energy is None:
            raise ConfigurationError("gradient_based_inference: it needs a loss_net, whose energy it descends.")
        if self.needs_gold and problem.gold is None:
            raise ConfigurationError(
                f"gradient_based_inference: with objective '{self.objective}' and start '{self.start}' it needs gold, "
                "so it is for training alone."
            )
        point = self._first_point(problem).clone().requires_grad_(True)
        optimizer = self._optimizer.new(point)
        outputs, moving = self._outputs(problem, point), None
        record = self._new_record(outputs)
        for _ in range(self.num_steps):
            value = self._step(problem, point, optimizer, moving)
            record.see(outputs, value)
            outputs, last = self._outputs(problem, point), outputs
            if self.tolerance > 0:
                # shape: (batch, starts)
                moving = (outputs - last).abs().flatten(2).amax(dim=2) >= self.tolerance
                if not moving.any():
                    break
        return record.result(outputs, lambda found: self._value(problem, found))

    def _new_record(self, outputs: torch.Tensor) -> DescentRecord:
        if self.keep == "trajectory":
            return Trajectory(outputs, self.num_steps + 1)
        return BestPoint(outputs) if self.keep == "best" else LastPoint(outputs)

    def _step(
        self,
        problem: SamplingProblem,
        point: torch.Tensor,
        optimizer: torch.optim.Optimizer,
        moving: Optional[torch.Tensor],
    ) -> torch.Tensor:
        """Moves the point, where it still is `moving` if that is given; returns the objective of where it was."""
        with torch.enable_grad():
            value = self._value(problem, self._outputs(problem, point))
            # Under autocast a backward pass, too, would multiply in half precision.
            with torch.autocast(point.device.type, enabled=False):
                (point.grad,) = torch.autograd.grad(value.sum(), point)
        before = None if moving is None else point.clone()
        optimizer.step()
        if self.space == "clip":
            point.copy_(problem.output_space.project(point, problem.mask))
        if moving is not None and before is not None:
            point.copy_(torch.where(of_each(moving, point), point, before))
        return value.detach()

    def _first_point(self, problem: SamplingProblem) -> torch.Tensor:
        """The start of what the optimizer updates, outputs or logits: `(batch, restarts, *structure)`."""
        # Half precision would lose small steps.
        output_space, logits = problem.output_space, at_least_float(problem.logits)
        if self.start == "zeros":
            outputs = torch.zeros_like(logits).unsqueeze(1)
        elif self.start == "half":
            outputs = output_space.relax(torch.zeros_like(logits), problem.mask)
        elif self.start == "random":
            outputs = torch.rand(
                logits.shape[0], self.restarts, *logits.shape[1:], dtype=logits.dtype, device=logits.device
            )
        elif self.start == "task_net":
            outputs = output_space.relax(logits, problem.mask)
        elif self.start == "draw":
            outputs = output_space.sample(logits, self.restarts, problem.mask).to(logits)
        else:
            outputs = require(problem.gold, "gold").unsqueeze(1).to(logits)
        return output_space.to_logits(outputs) if self.space == "logit" else output_space.project(outputs, problem.mask)

    def _outputs(self, problem: SamplingProblem, point: torch.Tensor) -> torch.Tensor:
        """The relaxed outputs of a point, which share no memory with it: `(batch, samples, *structure)`."""
        if self.space == "clip":
            return point.clone()
        return problem.output_space.relax_candidates(point, problem.mask)

    def _value(self, problem: SamplingProblem, outputs: torch.Tensor) -> torch.Tensor:
        """The objective `J`, which is minimized: `(batch, samples)`."""
        energy = require(problem.energy, "energy")(outputs)
        if self.objective == "cost_augmented":
            return energy - self.cost(problem.output_space, outputs, require(problem.gold, "gold"), problem.mask)
        if self.objective == "adversarial":
            score = self.score(problem.output_space, outputs, require(problem.gold, "gold"), problem.mask)
            return -regression_loss(energy, score)
        return energy
