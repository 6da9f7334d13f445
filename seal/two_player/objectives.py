from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Optional

import torch

from seal.common.setting_checks import needed
from seal.losses import Comparison, EnergyLoss, NetTerms, TaskLoss
from seal.nets import CostAugmentedNet, LossNet, TaskNetOutput
from seal.output_spaces import Candidates, OutputSpace
from seal.samplers import Sampler, SamplingProblem
from seal.two_player.features import Features
from seal.two_player.loss_terms import LossTerms
from seal.two_player.module_modes import constant, without_dropout
from seal.two_player.task_state import TaskState, check_gold


class Objectives(torch.nn.Module):
    """
    What each of two players minimises: `L_E` of the loss-net and `L_F` of the task-net, with what they share. A module
    with the parts below has it as a base: `TwoNets` in a program, `SealModel` in AllenNLP.
    """

    task_net: Optional[torch.nn.Module]
    loss_net: Optional[LossNet]
    cost_augmented_net: Optional[CostAugmentedNet]
    output_space: OutputSpace
    sampler: Optional[Sampler]
    energy_loss: Optional[EnergyLoss]
    task_loss: TaskLoss
    #: The name of the loss of further heads in the metrics.
    auxiliary_name: str

    def task_state(self, *args: Any, **kwargs: Any) -> TaskState:
        """Runs the task-net on a batch, with its graph."""
        raise NotImplementedError

    def monitor(self, name: str, value: torch.Tensor) -> None:
        """Is given the value of each loss and energy by its name."""

    @property
    def uses_energy(self) -> bool:
        """Whether the task-net is to follow the energy."""
        return self.loss_net is not None and self.task_loss.energy_weight > 0

    def state_of_all_nets(self, **batch: Any) -> TaskState:
        """`task_state`, with the logits of the cost-augmented network if there is one and gold is given."""
        state = self.task_state(**batch)
        if self.cost_augmented_net is not None and state.gold is not None and len(state.gold) > 0:
            output = TaskNetOutput(state.logits, state.hidden)
            state.cost_augmented = self.cost_augmented_net(state.inputs, output, state.gold, state.mask)
        return state

    def task_net_parameters(self) -> list[torch.nn.Parameter]:
        """`Phi`: everything but the loss-net."""
        theirs = {id(parameter) for parameter in self.loss_net_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in theirs]

    def loss_net_parameters(self) -> list[torch.nn.Parameter]:
        """`Theta`; empty without a loss-net. An output space's parameters count as the task-net's."""
        return [] if self.loss_net is None else list(self.loss_net.parameters())

    def draw(self, state: TaskState) -> Candidates:
        """The loss-net's candidates, drawn with the present task-net; constants."""
        gold = check_gold(state.gold)
        if len(gold) == 0:
            return Candidates(gold.unsqueeze(1))
        return self.sample_with(needed(self.sampler, "model.sampler"), state, gold)

    def sample_with(self, sampler: Sampler, state: TaskState, gold: Optional[torch.Tensor]) -> Candidates:
        """Samples outputs for a batch, as constants. `gold` may be `None` for a sampler that does not read it."""
        features = Features()

        def energy(outputs: torch.Tensor) -> torch.Tensor:
            return self._energies(features.frozen(self, state), outputs, state.mask)

        logits, cost_augmented = state.logits.detach(), state.cost_augmented
        cost_augmented = None if cost_augmented is None else cost_augmented.detach()
        needs_log_prob = self.energy_loss is not None and self.energy_loss.needs_noise_log_prob
        with constant(self.loss_net):
            return sampler(
                SamplingProblem(logits, gold, state.mask, self.output_space, energy, cost_augmented, needs_log_prob)
            )

    def loss_net_loss(
        self, state: TaskState, candidates: Candidates, features: Optional[list[Any]] = None
    ) -> torch.Tensor:
        """
        `L_E`, the mean over the batch: a scalar with a graph into the loss-net, and into the task-net if the
        candidates have one.

        # Parameters

        features : optional
            What `features` returns for this state; computed here if it is `None`.
        """
        gold, energy_loss = check_gold(state.gold), needed(self.energy_loss, "model.energy_loss")
        if len(gold) == 0:
            return no_loss(state.logits)
        features = self.features(state) if features is None else features
        outputs = self.output_space.stack(gold.unsqueeze(1), candidates.outputs)
        energy = self._energies(features, outputs, state.mask)
        gold_energy, energy = energy[:, 0], energy[:, 1:]
        comparison = Comparison(gold_energy, energy, candidates, gold, self.output_space, state.mask)
        loss = energy_loss(comparison).mean()
        self.monitor("loss_net_loss", loss)
        self.monitor("energy_gold", gold_energy.mean())
        draws = candidates.log_counts().to(energy).exp()
        self.monitor("energy_candidates", energy.masked_fill(draws == 0, 0.0).mul(draws).sum() / draws.sum())
        if not self.training:
            same, all_there_is = self.output_space.overlap(candidates.outputs, gold, state.mask)
            others = all_there_is > same
            if bool(others.any()):
                ranked = (energy > gold_energy.unsqueeze(1))[others].float().mean()
                self.monitor("ranking_accuracy", 100 * ranked)
        return loss

    def vectors(self, state: TaskState) -> Optional[torch.Tensor]:
        """Those of the loss-net's encoder, with their graph; `None` of an empty batch."""
        if len(state.logits) == 0:
            return None
        return needed(self.loss_net, "model.loss_net").vectors(state.inputs, state.hidden)

    def features(self, state: TaskState, vectors: Optional[torch.Tensor] = None) -> list[Any]:
        """
        The loss-net's features of the input, one item for each of its terms, with their graph.

        # Parameters

        vectors : optional
            What `vectors` returned for this state; computed here if it is `None`.
        """
        vectors = self.vectors(state) if vectors is None else vectors
        if vectors is None:
            return []
        return needed(self.loss_net, "model.loss_net").condition(vectors, state.inputs, state.mask)

    def frozen_features(self, state: TaskState, vectors: Optional[torch.Tensor] = None) -> list[Any]:
        """`features` as constants."""
        with without_dropout(self.loss_net), torch.no_grad():
            return self.features(state, vectors)

    def energy(self, state: TaskState, outputs: torch.Tensor) -> torch.Tensor:
        """
        `E(x, y)` of the given outputs under a model with a loss-net, which is a constant here.

        # Parameters

        state : `TaskState`
            Of the inputs, as `task_state` returns it.
        outputs : `torch.Tensor`, `(batch, samples, *output)`
            Discrete or relaxed. For gold, `state.gold.unsqueeze(1)`.

        # Returns

        `torch.Tensor`, `(batch, samples)`, with a graph into relaxed outputs only

        # Raises

        `ConfigurationError` if the outputs have another shape or type, or are out of range: indices of tags that there
        are not, or numbers outside [0, 1].
        """
        self.output_space.check_outputs(outputs, state.logits)
        if len(outputs) == 0:
            return state.logits.new_zeros(outputs.shape[:2])
        with constant(self.loss_net):
            return self._energies(self.frozen_features(state), outputs, state.mask)

    def task_net_loss(
        self, state: TaskState, features: Optional[list[Any]] = None, supervised: bool = True
    ) -> torch.Tensor:
        """
        `L_F` plus the loss of further heads: a scalar whose graph leads into the task-net, and the cost-augmented
        network beside it, only.

        # Parameters

        features : optional
            What `frozen_features` returns; needed where the energy's weight is not 0.
        supervised : `bool`, optional (default = `True`)
            If not, the loss is `E(x, F(x))` alone, and gold is not read.
        """
        if len(state.logits) == 0:
            loss = no_loss(state.logits)
        elif not supervised:
            with constant(self.loss_net):
                loss = self._energy_of_prediction(state, needed(features, "features")).mean()
            self.monitor("energy_prediction", loss)
            return loss
        else:
            check_gold(state.gold)
            with constant(self.loss_net):
                terms = self._terms(state, features)
            loss = self.task_loss(*terms).mean()
            self.monitor(self.task_loss.supervised_name, terms.task_net.supervised.mean())
            if terms.task_net.energy is not None:
                self.monitor("energy_prediction", terms.task_net.energy.mean())
            if terms.cost_augmented is not None and terms.cost_augmented.energy is not None:
                self.monitor("energy_cost_augmented", terms.cost_augmented.energy.mean())
        if state.auxiliary_loss is not None and supervised:
            self.monitor(self.auxiliary_name, state.auxiliary_loss)
            loss = loss + state.auxiliary_loss
        self.monitor("task_net_loss", loss)
        return loss

    def joint_loss(self, batch: Any) -> torch.Tensor:
        """
        `L_F` of a batch as a function of both nets: a scalar with a graph into each, for an implicit gradient to
        differentiate twice. The loss-net has no dropout here, as in `task_net_loss`. Nothing is logged.
        """
        losses = self.joint_losses(batch)
        return constant_loss(self.parameters()) if len(losses) == 0 else losses.mean()

    def joint_losses(self, batch: Any) -> torch.Tensor:
        """The losses of which `joint_loss` is the mean: `(instances,)`. The loss of further heads is added to each."""
        state = self.state_of_all_nets(**batch)
        if len(check_gold(state.gold)) == 0:
            return state.logits.new_zeros(0)
        with without_dropout(self.loss_net):
            features = self.features(state)
            losses = self.task_loss(*self._terms(state, features))
        return losses if state.auxiliary_loss is None else losses + state.auxiliary_loss

    def _terms(self, state: TaskState, features: Optional[list[Any]]) -> LossTerms:
        """Without `features` the terms have no energy."""
        space, gold, mask = self.output_space, check_gold(state.gold), state.mask
        networks = [state.logits] if state.cost_augmented is None else [state.logits, state.cost_augmented]
        energies: list[Optional[torch.Tensor]] = [None] * len(networks)
        costs, gold_energy = energies, None
        if features is not None and self.task_loss.through_draws:
            energies = [self._energy_of_prediction(state, features)]
        elif features is not None:
            outputs = torch.cat([self._relaxed(logits, mask) for logits in networks], dim=1)
            cost = self.task_loss.cost(space, outputs, gold, mask)
            costs = costs if cost is None else list(cost.unbind(dim=1))
            if self.task_loss.needs_gold_energy:
                outputs = space.stack(outputs, gold.unsqueeze(1))
            # shape: (batch, nets) or, with gold's, (batch, nets + 1)
            energies = list(self._energies(features, outputs, mask).unbind(dim=1))
            if self.task_loss.needs_gold_energy:
                gold_energy = energies.pop()
        supervised = [self.task_loss.supervised_in_steps(space, state.earlier, state.logits, gold, mask)]
        supervised += [self.task_loss.supervised(space, logits, gold, mask) for logits in networks[1:]]
        terms = [NetTerms(*parts) for parts in zip(supervised, energies, costs)]
        return LossTerms(terms[0], terms[1] if len(terms) > 1 else None, gold_energy)

    @torch.enable_grad()
    def energy_alignment(self, state: TaskState, features: Optional[list[Any]] = None) -> torch.Tensor:
        """
        How far the energy says what gold would: the cosine of the gradient, by the logits, of what the task-net follows
        of the energy with that of its cross-entropy. A scalar from -1 to 1; 0 where one of the two is 0.

        # Parameters

        features : optional
            What `frozen_features` returns for this state; computed here if it is `None`.
        """
        features = self.frozen_features(state) if features is None else features
        logits = state.logits.detach().requires_grad_()
        # An LSTM of cuDNN has no backward pass in evaluation mode.
        with constant(self.loss_net), torch.backends.cudnn.flags(enabled=False):
            energy = self._energy_of_prediction(replace(state, logits=logits), features)
            loss = self.output_space.cross_entropy(logits, check_gold(state.gold), state.mask)
            by_energy, by_gold = (torch.autograd.grad(part.sum(), logits)[0].flatten() for part in (energy, loss))
        return torch.cosine_similarity(by_energy, by_gold, dim=0)

    def _energy_of_prediction(self, state: TaskState, features: list[Any]) -> torch.Tensor:
        """What the task-net follows of the energy, `(batch,)`."""
        space, mask = self.output_space, state.mask
        if self.task_loss.through_draws:
            return self.task_loss.energy_of_draws(
                space, state.logits, lambda outputs: self._energies(features, outputs, mask), mask
            )
        return self._energies(features, self._relaxed(state.logits, mask), mask).squeeze(1)

    def _energies(self, features: list[Any], outputs: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        return needed(self.loss_net, "model.loss_net")(features, outputs, mask)

    def _relaxed(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        output = self.output_space.relax(logits, mask)
        return self.output_space.straight_through(output) if self.task_loss.straight_through else output


def no_loss(like: torch.Tensor) -> torch.Tensor:
    """
    The loss of a batch without an instance: 0, which can be backpropagated and leaves no parameter a gradient, so that
    optimizers move none of them by momentum or decay either.
    """
    return like.new_zeros(()).requires_grad_(True)


def constant_loss(parameters: Iterable[torch.nn.Parameter]) -> torch.Tensor:
    """The same with gradients of 0, for workers that average theirs with those of others."""
    return sum((parameter.sum() * 0 for parameter in parameters if parameter.requires_grad), torch.zeros(()))
