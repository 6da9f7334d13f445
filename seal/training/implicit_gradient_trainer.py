"""
The trainer `implicit_gradient`: bi-level training, in which the loss-net's update includes its effect on the task-net.
"""

import contextlib
import functools
import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Optional

import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, TensorDict
from allennlp.training import Trainer

from seal.common.precision import mixed_precision_in
from seal.common.setting_checks import pop_arguments, require, with_parameters_of
from seal.hypergradients import (
    Hypergradient,
    HypergradientReport,
    InputSpans,
    NonFiniteValue,
    hypergradient,
    unrolled_hypergradient,
)
from seal.output_spaces import Candidates
from seal.samplers import with_gradient
from seal.tasks.base import SealModel
from seal.training.bilevel import (
    Bilevel,
    adam_geometry,
    check_adam,
    check_full_precision,
    inner_parameters,
    warn_of_kinks,
)
from seal.training.distributed import ShardedOptimizer
from seal.training.trainer import AlternatingTrainer
from seal.two_player import LOSS_NET, TASK_NET, MicroBatch, NotFinite, RandomStream, TwoPlayerOptimizer
from seal.two_player.objectives import TaskState, constant_loss, no_loss, without_gradient

logger = logging.getLogger(__name__)


class ImplicitLoss:
    """
    `L_Prim` of a batch with its hypergradient: the loss-net's loss on candidates that are functions of the task-net.
    The gradient includes the loss-net's effect on the task-net (see `seal.hypergradients`). `AlternatingUpdates` calls
    it as its `implicit_loss`.

    # Parameters

    model : `SealModel`
    optimizer : `TwoPlayerOptimizer`
    bilevel : `Bilevel`
    stream : `RandomStream`
        The random stream of the loss-net's draws and dropout.
    outer_batches : `Iterable[TensorDict]`
        The batches of `L_Prim`; empty: `L_Prim` uses the batch of the task loss.
    batches_completed : `Callable[[], int]`
        Returns the number of batches since the start of training.
    distributed : `bool`
        Whether all workers solve one system for their batches together.
    cpu_autocast : `bool`
        Whether encoders run in mixed precision on a CPU.
    """

    def __init__(
        self,
        model: SealModel,
        optimizer: TwoPlayerOptimizer,
        bilevel: Bilevel,
        stream: RandomStream,
        outer_batches: Iterable[TensorDict],
        batches_completed: Callable[[], int],
        distributed: bool,
        cpu_autocast: bool,
    ) -> None:
        self._model, self._optimizer, self.settings, self._stream = model, optimizer, bilevel, stream
        self._batches_completed, self._cpu_autocast = batches_completed, cpu_autocast
        self._parameters: dict[str, dict[str, torch.nn.Parameter]] = {}
        for player in optimizer.players:
            moved = set(optimizer.parameters(player))
            self._parameters[player] = {name: p for name, p in model.named_parameters() if p in moved}
        self._reduce = _mean_of_workers if distributed else None
        # In memory, so that a recovered run finds its batch by counting.
        self.outer_batches = list(outer_batches)
        #: The solution of the last system, by name, with `warm_start`.
        self.solution: Optional[dict[str, torch.Tensor]] = None
        # All workers have the same seed, because they solve one system together.
        self._seed = torch.initial_seed()
        # The warnings so far.
        self._warned: list[str] = []

    def __call__(self, part: MicroBatch) -> torch.Tensor:
        """
        Returns `L_Prim`, a scalar whose gradient with respect to the loss-net's parameters is the hypergradient. It
        draws candidates if the batch has none.

        # Raises

        `NotFinite` if the task-net's output or a loss is not finite; `ConfigurationError` as `hypergradient`.
        """
        outer, inner = self.parameters_of(LOSS_NET), self.inner_parameters
        constants = [parameter for name, parameter in self.parameters_of(TASK_NET).items() if name not in inner]
        gradient = self._solved if self.settings.unroll is None else self._unrolled
        outer_batch = None
        if self.outer_batches:
            outer_batch = self.outer_batches[self._batches_completed() % len(self.outer_batches)]
        try:
            with self._stream.active(), without_gradient(constants), self._mixed_precision():
                found = gradient(part, outer_batch)
        except NonFiniteValue as error:
            raise NotFinite(error.what, TASK_NET) from error
        parameters = list(outer.values())
        if found is None:
            return no_loss(parameters[0])
        self._report(found.report)
        value = parameters[0].new_tensor(found.report.loss)
        return _WithGradients.apply(value, [found.gradient[name] for name in outer], *parameters)

    def _solved(self, part: MicroBatch, outer_batch: Optional[TensorDict]) -> Optional[Hypergradient]:
        """Solves the linear system at the present task-net. Returns `None` for a batch without instances."""
        model, batch, settings = self._model, part.batch, self.settings
        solver, metric = require(settings.solver, "solver"), None
        if settings.geometry == "adam":
            metric = adam_geometry(self._optimizer.players[TASK_NET], self.inner_parameters)
        alone = not (self._reduce or solver.depends_on_basis or settings.warm_start)
        spans = InputSpans(model, batch.values()) if alone and metric is None and outer_batch is None else None
        # One pass of the task-net draws the candidates and lets the gradient through them.
        with contextlib.nullcontext() if spans is None else spans.recording():
            state = self._finite_state(outer_batch or batch)
        candidates = part.candidates
        if outer_batch is not None or candidates is None:
            candidates = model.sample(state)
            part.candidates = candidates if outer_batch is None else part.candidates
        if candidates.outputs.shape[0] == 0 and self._reduce is None:
            return None
        primary = self._primary([state], candidates)
        del state
        found = hypergradient(
            lambda: model.joint_loss(batch),
            primary,
            self.inner_parameters,
            self.parameters_of(LOSS_NET),
            solver,
            products=settings.products,
            example_losses=(lambda: model.joint_losses(batch)) if solver.needs_examples else None,
            # For the solver's random vectors.
            generator=torch.Generator().manual_seed(self._seed + self._batches_completed()),
            reduce=self._reduce,
            spans=spans,
            metric=metric,
            start=self.solution,
        )
        if settings.warm_start:
            self.solution = found.solution
        return found

    def _unrolled(self, part: MicroBatch, outer_batch: Optional[TensorDict]) -> Hypergradient:
        """
        Differentiates unrolled steps of gradient descent on the batch. The candidates are drawn after the last step.
        """
        model, unrolling = self._model, require(self.settings.unroll, "unroll")

        def primary() -> torch.Tensor:
            state = self._finite_state(outer_batch or part.batch)
            return self._primary([state], model.sample(state))()

        return unrolled_hypergradient(
            lambda: model.joint_loss(part.batch),
            primary,
            self.inner_parameters,
            self.parameters_of(LOSS_NET),
            unrolling.num_steps,
            unrolling.step_size,
            unrolling.backward_steps,
            self.settings.products,
            reduce=self._reduce,
        )

    def _finite_state(self, batch: TensorDict) -> TaskState:
        state = self._model.state_of_all_nets(**batch)
        if not torch.isfinite(state.logits).all():
            raise NonFiniteValue("task_net's output is no longer finite")
        return state

    def _primary(self, states: list[TaskState], candidates: Candidates) -> Callable[[], torch.Tensor]:
        def primary() -> torch.Tensor:
            # This is called once. `pop` drops the state, so that its graph is freed before the system is solved.
            state, space = states.pop(), self._model.output_space
            if len(self._model.gold(state)) == 0:
                # Another worker's batch may have instances.
                return constant_loss(self._model.loss_net_parameters())
            attached = with_gradient(
                candidates, state.logits, space, state.mask, self.settings.through, state.cost_augmented
            )
            return self._model.loss_net_loss(state, attached)

        return primary

    def _mixed_precision(self) -> AbstractContextManager[None]:
        """A context in which only encoders use mixed precision: no second derivative passes through them."""
        if not self._cpu_autocast:
            return contextlib.nullcontext()
        encoders = [getattr(net, "encoder", None) for net in (self._model.task_net, self._model.loss_net)]
        return mixed_precision_in(encoder for encoder in encoders if encoder is not None)

    def parameters_of(self, player: str) -> dict[str, torch.nn.Parameter]:
        """The parameters that the player's optimizer updates, by name."""
        return self._parameters[player]

    @functools.cached_property
    def inner_parameters(self) -> dict[str, torch.nn.Parameter]:
        """The inner parameters `theta`, by name."""
        return inner_parameters(self._model, self.parameters_of(TASK_NET), self.settings.inner_parameters)

    def _report(self, report: HypergradientReport) -> None:
        values = {
            "explicit_norm": report.explicit_norm,
            "implicit_norm": report.implicit_norm,
            "inner_gradient_norm": report.inner_gradient_norm,
            "solver_residual": report.residual,
            "solver_steps": report.steps,
            "solver_left_out": report.left_out,
            "products_disagreement": report.disagreement,
        }
        if getattr(self.settings.solver, "relative_damping", 0) > 0:
            values["solver_damping"] = report.damping
        if report.curvature is not None:
            values["least_curvature"], values["most_curvature"] = report.curvature
        for name, value in values.items():
            if value is not None:
                self._model.monitors.add(name, float(value))
        unsolved = report.residual is not None and not report.converged
        if (report.has_problem or unsolved) and report.status not in self._warned and len(self._warned) < 5:
            self._warned.append(report.status)
            logger.warning("The solver of the implicit gradient: %s", report.status)

    def state_dict(self) -> dict[str, Any]:
        """The solution of the last system, from which the next solve starts."""
        return {"solution": self.solution}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads the entries of `state_dict` from a checkpoint's trainer state."""
        if state.get("solution") is not None:
            inner = self.inner_parameters
            self.solution = {name: value.to(inner[name].device) for name, value in state["solution"].items()}


class _WithGradients(torch.autograd.Function):
    """A value with given gradients for parameters."""

    @staticmethod
    def forward(ctx, value, gradients, *parameters):
        ctx.gradients = gradients
        return value.clone()

    @staticmethod
    def backward(ctx, weight):
        return (None, None, *(weight.to(gradient) * gradient for gradient in ctx.gradients))


def _mean_of_workers(flat: torch.Tensor) -> torch.Tensor:
    flat = flat.clone()
    dist.all_reduce(flat)
    return flat / dist.get_world_size()


@Trainer.register("implicit_gradient", constructor="from_partial_objects")
class ImplicitGradientTrainer(AlternatingTrainer):
    """
    Bi-level training (implicit-training paper, Eq. 2 and Algorithm 1):

        psi* = argmin_psi L_Prim(theta*(psi), psi)    with    theta*(psi) = argmin_theta L_Aux(theta, psi)

    The inner parameters `theta` are the task-net's, the outer parameters `psi` the loss-net's. `L_Aux` is the task
    loss, `L_Prim` the energy loss on the task-net's own outputs: `margin` (SSVM), `regression` (DVN) or
    `contrastive_divergence` (CD). For each batch:

        theta  descends  dL_Aux/dtheta, by `task_net.steps` updates
        psi    descends  dL_Prim/dpsi - J^T H^-1 dL_Prim/dtheta   (see `seal.hypergradients`)

    The second term is the effect of the loss-net on the task-net that is trained with it. `implicit: false` leaves it
    out, which gives the update of inference networks.

    With gradient accumulation, the trainer solves a system for each batch of a group and averages the gradients. With
    `distributed`, all workers solve one system for their batches together. The solver `sherman_morrison` gets the task
    loss of each instance.

    # Parameters

    As `alternating`, and

    solver : `InverseHessianVector`, optional (default = `neumann` with 5 steps and damping 0.1)
        Solves `H q = dL_Prim/dtheta`. The default has damping, because `L_Aux` is seldom convex in a network's
        parameters. Another solver has the damping that the config sets, or the solver's own default.
    implicit : `bool`, optional (default = `True`)
        Whether the loss-net's update has its second term.
    through : `str`, optional (default = `"straight_through"`)
        How `L_Prim`'s gradient passes through candidates to the task-net: `"straight_through"`, `"relaxed"`,
        `"soft"` or `"none"`; see `seal.samplers.with_gradient`.
    inner_parameters : `Union[str, list[str]]`, optional (default = `None`)
        The task-net's parameters that form `theta`; the others count as constants. `None`: all parameters, as in the
        paper. `"last_layer"`: the parameters of the last layer, which avoids all second derivatives of a large encoder.
        A list of regular expressions: the parameters whose names match one of them.
    warm_start : `bool`, optional (default = `False`)
        Whether a solve starts from the solution of the last system. It takes one more product.
    geometry : `str`, optional (default = `"euclidean"`)
        `"adam"`: the system is solved in the geometry of the task-net's Adam. The metric (`metric` of `hypergradient`)
        is the square root of Adam's average squared gradients, divided by its mean and at least 0.01, so that damping
        has the same units as without it.
    outer_data_loader : `DataLoader`, optional (default = `None`)
        The loader of held-out batches for `L_Prim`. Each update takes the next one; they are kept in memory. `None`:
        `L_Prim` uses the batch of the task loss.
    unroll : `Unrolling`, optional (default = `None`)
        Replaces the minimum and the solver by `num_steps` steps of gradient descent of size `step_size` on the task
        loss of the batch. The last `backward_steps` of them are differentiated, by default all. The task-net keeps its
        weights.
    products : `str`, optional (default = `"autograd"`)
        Computes second derivatives by `"autograd"` or by `"finite_differences"`.
    first : `str`, optional (default = `"task_net"`)
        The player that is updated first in a batch.
    use_amp : `bool`, optional (default = `False`)
        Mixed precision. With `implicit` it needs a CPU, and `inner_parameters` of the last layer. In the loss-net's
        update only encoders use it, so that second derivatives have full precision.

    # Raises

    `ConfigurationError`

    - if only one net is trained, `inner_parameters` selects no trained parameter, or an expression matches no name;
    - if `through` does not fit the sampler or the energy loss, the solver takes the task loss for a sum, `unroll` is
    set
      together with a solver, `warm_start` or a geometry, or the outer loader has no batch;
    - with `implicit`, if the task loss does not depend on the energy, no candidate is a function of the task-net,
    finite
      differences would move a part of the task loss that the gradient treats as constant, `geometry` is `"adam"` with
      another optimizer, `use_amp` is set on a GPU or for more than the last layer, or a distributed run accumulates
      batches or has a solver that needs the losses of single examples.
    """

    def __init__(
        self, *args: Any, bilevel: Bilevel, outer_data_loader: Optional[DataLoader] = None, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        if outer_data_loader is not None:
            outer_data_loader.index_with(self.model.vocab)
            outer_data_loader.set_target_device(self.cuda_device)
        self.implicit = ImplicitLoss(
            self.model,
            self.optimizer,
            bilevel,
            self.turns.stream,
            outer_data_loader or (),
            lambda: self.batches_completed,
            self.is_distributed,
            self._cpu_autocast,
        )
        if outer_data_loader is not None and not self.implicit.outer_batches:
            raise ConfigurationError("trainer.outer_data_loader: it has no batch.")
        if bilevel.implicit:
            self.turns.implicit_loss = self.implicit
        self.kept.append(self.implicit)

    @classmethod
    @with_parameters_of(Bilevel, AlternatingTrainer.from_partial_objects)
    def from_partial_objects(
        cls,
        model: SealModel,
        serialization_dir: str,
        *,
        outer_data_loader: Optional[DataLoader] = None,
        first: str = TASK_NET,
        **settings: Any,
    ) -> "ImplicitGradientTrainer":
        """The constructor that `FromParams` calls."""
        bilevel = pop_arguments(Bilevel, settings)
        if bilevel.implicit and settings.get("reuse_features"):
            raise ConfigurationError(
                "trainer.reuse_features: the implicit gradient computes features of its own; leave it out."
            )
        if not settings.get("folds_with_loss_net", True):
            raise ConfigurationError(
                "trainer.folds_with_loss_net: 'implicit_gradient' always trains both nets; leave it out."
            )
        trainer = super().from_partial_objects(
            model=model,
            serialization_dir=serialization_dir,
            first=first,
            bilevel=bilevel,
            outer_data_loader=outer_data_loader,
            **settings,
        )
        bilevel.check_model(model)
        if {TASK_NET, LOSS_NET} - set(trainer.optimizer.players):
            raise ConfigurationError(
                "trainer.type: 'implicit_gradient' trains a task_net and a loss_net together; take 'alternating' for "
                "one of them."
            )
        inner = trainer.implicit.inner_parameters.values()
        if bilevel.implicit:
            if trainer.is_distributed:
                bilevel.check_distributed(settings.get("num_gradient_accumulation_steps", 1))
            if settings.get("use_amp"):
                check_full_precision(model, inner, trainer._cpu_autocast)
            if bilevel.geometry == "adam":
                check_adam(trainer.optimizer.players[TASK_NET])
                if isinstance(trainer.optimizer, ShardedOptimizer):
                    raise ConfigurationError(
                        "trainer.shard_optimizer_states: the geometry 'adam' reads the states of all parameters; leave "
                        "it out."
                    )
            warn_of_kinks(model, inner)
        return trainer
