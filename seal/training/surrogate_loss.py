"""The loss-net's loss in bi-level training, in a form that any training loop can backpropagate."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional

import torch
import torch.distributed as dist

from seal.common.setting_checks import needed
from seal.hypergradients import (
    Hypergradient,
    HypergradientReport,
    InputSpans,
    InverseHessianVector,
    NonFiniteValue,
    hypergradient,
    unrolled_hypergradient,
)
from seal.models import SealModel, TaskState
from seal.output_spaces import Candidates
from seal.samplers import with_gradient
from seal.training.bilevel import Unrolling
from seal.two_player import MicroBatch
from seal.two_player.objectives import constant_loss


class Surrogate(NamedTuple):
    """
    # Parameters

    loss : `torch.Tensor`, a scalar
        It has the value of `L_Prim`, and the hypergradient as its gradient in the outer parameters.
    report : `HypergradientReport`, optional
        `None` for a batch without an instance, which has no system to solve.
    """

    loss: torch.Tensor
    report: Optional[HypergradientReport]


class SurrogateLoss:
    """
    `L_Prim` of a batch, the loss-net's loss on candidates that are functions of the task-net, with the gradient that
    includes the loss-net's effect on the task-net (see `seal.hypergradients`).

    # Parameters

    model : `SealModel`
    solver : `InverseHessianVector`
    through, products : `str`
        As for `ImplicitGradientTrainer`.
    distributed : `bool`, optional (default = `False`)
        Whether all workers solve one system for their batches together.
    warm_start : `bool`, optional (default = `False`)
        Whether a system's solution is where the next one starts.
    unrolling : `Unrolling`, optional (default = `None`)
        In the place of the solver.
    """

    def __init__(
        self,
        model: SealModel,
        solver: InverseHessianVector,
        through: str,
        products: str,
        distributed: bool = False,
        warm_start: bool = False,
        unrolling: Optional[Unrolling] = None,
    ) -> None:
        self._model, self._solver = model, solver
        self._through, self._products = through, products
        self._distributed, self._warm_start, self._unrolling = distributed, warm_start, unrolling
        #: The solution of the last system, by name, with `warm_start`.
        self.solution: Optional[dict[str, torch.Tensor]] = None

    def __call__(
        self,
        part: MicroBatch,
        inner: Mapping[str, torch.nn.Parameter],
        outer: Mapping[str, torch.nn.Parameter],
        generator: Optional[torch.Generator] = None,
        metric: Optional[Mapping[str, torch.Tensor]] = None,
        held_out: Optional[dict[str, Any]] = None,
    ) -> Surrogate:
        """
        # Parameters

        part : `MicroBatch`
            Its candidates are drawn if it has none.
        inner, outer : `Mapping[str, torch.nn.Parameter]`
            `theta` and `psi`, by name.
        generator : `torch.Generator`, optional
            For the solver's random vectors, which must be the same in all workers.
        metric : `Mapping[str, torch.Tensor]`, optional
            As for `hypergradient`.
        held_out : `dict[str, Any]`, optional
            The batch of `L_Prim`; `None`: that of `part`.

        # Raises

        `NonFiniteValue` if the task-net's output or a loss is not finite; `ConfigurationError` as `hypergradient`.
        """
        model, batch = self._model, part.batch
        if self._unrolling is not None:
            return self._unrolled(batch, held_out or batch, inner, outer)
        alone = not (self._distributed or self._solver.depends_on_basis or self._warm_start)
        alone = alone and metric is None and held_out is None
        spans = InputSpans(model, batch.values()) if alone else None
        # One pass of the task-net draws the candidates and lets the gradient through them.
        with contextlib.nullcontext() if spans is None else spans.recording():
            state = model.state_of_all_nets(**(held_out or batch))
        if not torch.isfinite(state.logits).all():
            raise NonFiniteValue("task_net's output is no longer finite")
        candidates = part.candidates
        if held_out is not None or candidates is None:
            candidates = model.sample(state)
            part.candidates = candidates if held_out is None else part.candidates
        if candidates.outputs.shape[0] == 0 and not self._distributed:
            return Surrogate(model.loss_net_loss(state, candidates), None)
        primary = self._primary([state], candidates)
        del state
        found = hypergradient(
            lambda: model.joint_loss(batch),
            primary,
            inner,
            outer,
            self._solver,
            products=self._products,
            example_losses=(lambda: model.joint_losses(batch)) if self._solver.needs_examples else None,
            generator=generator,
            reduce=_mean_of_workers if self._distributed else None,
            spans=spans,
            metric=metric,
            start=self.solution,
        )
        if self._warm_start:
            self.solution = found.solution
        return self._surrogate(found, outer)

    def _unrolled(
        self,
        batch: dict[str, Any],
        held_out: dict[str, Any],
        inner: Mapping[str, torch.nn.Parameter],
        outer: Mapping[str, torch.nn.Parameter],
    ) -> Surrogate:
        """As the call, through the steps of a descent on the batch, at whose end the candidates are drawn."""
        model, unrolling = self._model, needed(self._unrolling, "unroll")

        def primary() -> torch.Tensor:
            state = model.state_of_all_nets(**held_out)
            if not torch.isfinite(state.logits).all():
                raise NonFiniteValue("task_net's output is no longer finite")
            return self._primary([state], model.sample(state))()

        found = unrolled_hypergradient(
            lambda: model.joint_loss(batch),
            primary,
            inner,
            outer,
            unrolling.num_steps,
            unrolling.step_size,
            unrolling.backward_steps,
            self._products,
            reduce=_mean_of_workers if self._distributed else None,
        )
        return self._surrogate(found, outer)

    def _surrogate(self, found: Hypergradient, outer: Mapping[str, torch.nn.Parameter]) -> Surrogate:
        gradients = [found.gradient[name] for name in outer]
        value = gradients[0].new_tensor(found.report.loss)
        return Surrogate(_WithGradients.apply(value, gradients, *outer.values()), found.report)

    def _primary(self, states: list[TaskState], candidates: Candidates) -> Callable[[], torch.Tensor]:
        def primary() -> torch.Tensor:
            # Called once. The list gives the state up, so that the graph of its pass is freed before the system is
            # solved.
            state = states.pop()
            if len(self._model.gold(state)) == 0:
                # Another worker's batch may have instances.
                return constant_loss(self._model.loss_net_parameters())
            space = self._model.output_space
            attached = with_gradient(candidates, state.logits, space, state.mask, self._through, state.cost_augmented)
            return self._model.loss_net_loss(state, attached)

        return primary


class _WithGradients(torch.autograd.Function):
    """A value with given gradients with respect to parameters."""

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
