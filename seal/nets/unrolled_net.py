"""The task-net `unrolled`: the end of a gradient descent on an energy, trained through its steps."""

import math
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Optional, cast

import torch
from torch.utils.checkpoint import checkpoint

from seal.common.setting_checks import check_range, require
from seal.energies import Energy
from seal.nets.encoders import Encoder
from seal.nets.task_and_loss_net import TaskNet, TaskNetOutput
from seal.output_spaces import BinaryMask, OutputSpace
from seal.registry import ConfigurationError, Lazy, construct


@TaskNet.register("unrolled")
class UnrolledNet(TaskNet):
    """
    A task-net whose output is the end of a gradient descent on an energy, and which is trained through the steps of
    that descent (Belanger, Yang & McCallum 2017, end-to-end SPENs). The energy of a relaxed output `y` is

        J(x, y) = E(x, y) - <F(x), y> - entropy_weight * H(y)

    with further terms `E`, the linear layer's logits `F(x)` as its local term, and the entropy `H` of the output
    space's distribution with the mean `y`. The descent is over logits `z`, by the slope in `y` (entropic mirror
    descent); the slope of `-H` is `z` itself:

        y_t     = relax(z_t)
        v_{t+1} = momentum * v_t + dE/dy(x, y_t) - F(x) + entropy_weight * z_t
        z_{t+1} = z_t - step_size_t * v_{t+1},       z_0 = F(x),  v_0 = 0,  t = 0, ..., num_steps - 1

    Where `E` is 0 and `entropy_weight` 1, `F(x)` is the minimum, and the net is a linear task-net. Every step has a
    learned size, and the momentum is learned. With the task loss `every_step` all iterates are compared with gold,
    otherwise the last one alone.

    # Parameters

    encoder, output_space, dropout, bias, pretrained_file : as for `TaskNet`
    energies : `list[Lazy[Energy]]`
        The terms of `E`.
    energy_encoder : `Encoder`, optional (default = `None`)
        What the energies read of the input. `None`: the task-net's own vectors.
    num_steps : `int`, optional (default = `5`)
        At least 1. A training step takes about twice the memory and the time of as many energies and their slopes.
    step_size : `float`, optional (default = `0.5`)
        Of each step, before it is learned; above 0, in units of logits per unit of slope.
    momentum : `float`, optional (default = `0.5`)
        Before it is learned; in [0, 1). 0: there is none, and none is learned.
    entropy_weight : `float`, optional (default = `1.0`)
        At least 0.
    truncation : `int`, optional (default = `None`)
        Gradients pass back through at most so many steps: the descent is cut into parts of this length, counted from
        its end, and `z` and `v` are constants where one begins. `None`: through all steps.
    checkpoint : `bool`, optional (default = `False`)
        Whether training keeps `z` and `v` alone of each step, and computes the step again in the backward pass: less
        memory, the same gradients bit for bit, and three quarters more time.

    # Raises

    `ConfigurationError` without any energy, or for a number outside these ranges.
    """

    def __init__(
        self,
        encoder: Encoder,
        output_space: OutputSpace,
        energies: list[Lazy[Energy]],
        energy_encoder: Optional[Encoder] = None,
        num_steps: int = 5,
        step_size: float = 0.5,
        momentum: float = 0.5,
        entropy_weight: float = 1.0,
        truncation: Optional[int] = None,
        checkpoint: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__(encoder, output_space, dropout, bias, pretrained_file)
        key = "task_net"
        if not energies:
            raise ConfigurationError(f"{key}.energies: give at least one energy; a net without any is a 'linear' one.")
        check_range(f"{key}.num_steps", num_steps, least=1)
        check_range(f"{key}.step_size", step_size, above=0)
        check_range(f"{key}.momentum", momentum, least=0, below=1)
        check_range(f"{key}.entropy_weight", entropy_weight, least=0)
        check_range(f"{key}.truncation", truncation, least=1)
        self.output_space = output_space
        self.energy_encoder = energy_encoder
        input_dim = (energy_encoder or encoder).get_output_dim()
        self.energies = torch.nn.ModuleList(
            construct(energy, input_dim=input_dim, output_space=output_space) for energy in energies
        )
        # An LSTM of cuDNN has no second derivatives.
        self._without_cudnn = any(isinstance(module, torch.nn.RNNBase) for module in self.energies.modules())
        self.num_steps, self.entropy_weight = num_steps, entropy_weight
        self.truncation, self.checkpoint = truncation, checkpoint
        #: The logarithms of the step sizes, `(num_steps,)`, and the log-odds of the momentum.
        self.log_step_sizes = torch.nn.Parameter(torch.full((num_steps,), math.log(step_size)))
        self.momentum_logit: Optional[torch.nn.Parameter] = None
        if momentum > 0:
            self.momentum_logit = torch.nn.Parameter(torch.tensor(math.log(momentum / (1 - momentum))))

    def forward(self, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None) -> TaskNetOutput:
        local, hidden, _ = super().forward(inputs, mask)
        read = require(hidden, "the encoder's vectors") if self.energy_encoder is None else self.energy_encoder(inputs)
        features = [energy.condition(read, mask, inputs) for energy in cast(Iterable[Energy], self.energies)]
        masks = isinstance(self.output_space, BinaryMask)
        if masks:
            local = local.squeeze(-1)  # One logit a pixel.
        iterates = torch.stack(self._descent(local, features, mask), dim=1)
        if masks:
            iterates = iterates.unsqueeze(-1)
        return TaskNetOutput(iterates[:, -1], hidden, iterates[:, :-1] if torch.is_grad_enabled() else None)

    def _descent(self, local: torch.Tensor, features: list[Any], mask: Optional[torch.Tensor]) -> list[torch.Tensor]:
        """`z_1, ..., z_T` from `z_0 = local`, each `(batch, *structure)`."""
        learns = torch.is_grad_enabled()
        logits, velocity = local, torch.zeros_like(local)
        iterates = []
        for step in range(self.num_steps):
            if self.truncation is not None and step > 0 and (self.num_steps - step) % self.truncation == 0:
                logits, velocity = logits.detach(), velocity.detach()
            state = (step, logits, velocity, local, features, mask)
            if learns and self.checkpoint:
                logits, velocity = checkpoint(self._step, *state, use_reentrant=False)
            else:
                logits, velocity = self._step(*state)
            iterates.append(logits)
        return iterates

    def _step(
        self,
        step: int,
        logits: torch.Tensor,
        velocity: torch.Tensor,
        local: torch.Tensor,
        features: list[Any],
        mask: Optional[torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`z` and `v` after the step."""
        slope = self._slope(logits, features, mask) - local + self.entropy_weight * logits
        if self.momentum_logit is not None:
            slope = self.momentum_logit.sigmoid() * velocity + slope
        return logits - self.log_step_sizes[step].exp() * slope, slope

    def _slope(self, logits: torch.Tensor, features: list[Any], mask: Optional[torch.Tensor]) -> torch.Tensor:
        """`dE/dy` at `relax(logits)`, `(batch, *structure)`: with a graph where gradients are on."""
        learns = torch.is_grad_enabled()
        cudnn = torch.backends.cudnn.flags(enabled=False) if self._without_cudnn else nullcontext()
        with torch.enable_grad(), cudnn:
            outputs = self.output_space.relax(logits, mask)
            if not (learns and outputs.requires_grad):
                outputs = outputs.detach().requires_grad_()
            energy = sum(term(condition, outputs, mask) for term, condition in zip(self.energies, features))
            # Under autocast a backward pass, too, would multiply in half precision.
            with torch.autocast(outputs.device.type, enabled=False):
                (slope,) = torch.autograd.grad(energy.sum(), outputs, create_graph=learns)
        return slope.squeeze(1)
