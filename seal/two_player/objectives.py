"""The losses of the two players, `L_E` of the loss-net and `L_F` of the task-net, as functions of a batch."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Optional

import torch

from seal.common.setting_checks import require
from seal.losses import Comparison, EnergyLoss, NetTerms, TaskLoss
from seal.nets import CostAugmentedNet, LossNet, TaskNetOutput
from seal.output_spaces import Candidates, OutputSpace
from seal.registry import ConfigurationError
from seal.samplers import Sampler, SamplingProblem


def select_rows(inputs: dict[str, Any], rows: torch.Tensor) -> dict[str, Any]:
    """The given rows of every tensor of a nested dictionary."""
    selected = {}
    for name, value in inputs.items():
        selected[name] = select_rows(value, rows) if isinstance(value, dict) else value[rows]
    return selected


@contextmanager
def constant(module: Optional[torch.nn.Module]) -> Iterator[None]:
    """A context in which `module` gets no gradient and no dropout. Gradients still pass through it to its inputs."""
    if module is None:
        yield
        return
    with without_gradient(module.parameters()), without_dropout(module):
        yield


@contextmanager
def without_gradient(parameters: Iterable[torch.nn.Parameter]) -> Iterator[None]:
    """A context in which `parameters` get no gradient."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)


@contextmanager
def without_dropout(*modules: Optional[torch.nn.Module]) -> Iterator[None]:
    """A context in which `modules` are in evaluation mode; `None` stands for a missing net."""
    modes = [(module, module.training) for module in modules if module is not None]
    for module, _ in modes:
        module.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.train(training)


@dataclass
class TaskState:
    """
    The task-net's output for a batch, with its input and gold. It is computed once for both losses.

    # Parameters

    inputs : `dict[str, Any]`
        The input tensors of the encoders.
    logits : `torch.Tensor`, `(batch, *structure)`
        The task-net's logits, with its graph; zeros without a task-net.
    hidden : `torch.Tensor`, `(batch, ..., size)`, optional
        The vectors of the task-net's encoder; `None` without a task-net.
    mask : `torch.BoolTensor`, `(batch, tokens)`, optional
        True at real tokens; `None` if all instances have the same size.
    gold : `torch.Tensor`, `(batch, *output)`, optional
    auxiliary_losses : `dict[str, torch.Tensor]`, optional
        Scalars, by their names as metrics, that the task-net's loss has besides: those of its auxiliary heads, and of
        rules for several instances.
    cost_augmented : `torch.Tensor`, `(batch, *structure)`, optional
        The cost-augmented network's logits, with its graph. `state_of_all_nets` sets it.
    earlier : `torch.Tensor`, `(batch, steps, *structure)`, optional
        As in `TaskNetOutput`.
    """

    inputs: dict[str, Any]
    logits: torch.Tensor
    hidden: Optional[torch.Tensor]
    mask: Optional[torch.Tensor] = None
    gold: Optional[torch.Tensor] = None
    auxiliary_losses: dict[str, torch.Tensor] = field(default_factory=dict)
    cost_augmented: Optional[torch.Tensor] = None
    earlier: Optional[torch.Tensor] = None

    def of_rows(self, rows: torch.Tensor) -> "TaskState":
        """The state of the given instances, without gold, for the energies of their outputs."""
        hidden = None if self.hidden is None else self.hidden[rows]
        mask = None if self.mask is None else self.mask[rows]
        return TaskState(select_rows(self.inputs, rows), self.logits[rows], hidden, mask)


class Features:
    """
    A cache of the loss-net's features of one batch. It is in one of three states: empty; with frozen features, which
    are constants; or with features that have a graph into the loss-net, for one backward pass, besides the frozen ones.
    The encoder's vectors, from which features are computed, may be cached longer.

    The methods compute missing features from their arguments `nets` and `state`.
    """

    def __init__(self) -> None:
        self._with_graph: Optional[list[Any]] = None
        self._frozen: Optional[list[Any]] = None
        self._vectors: Optional[torch.Tensor] = None

    def prepare(self, nets: "Objectives", state: TaskState) -> None:
        """Computes features with their graph for a later `take`, if the cache is empty."""
        if self._frozen is None:
            self._compute(nets, state)

    def take(self, nets: "Objectives", state: TaskState) -> list[Any]:
        """Returns the features with their graph. The cache keeps only the frozen ones."""
        taken = self._with_graph or self._compute(nets, state)
        self._with_graph = None
        return taken

    def frozen(self, nets: "Objectives", state: TaskState) -> list[Any]:
        """
        Returns frozen features: those of the forward pass with the graph or, without one, computed without dropout.
        """
        if self._frozen is None:
            self._frozen = nets.frozen_features(state, self._vectors)
        return self._frozen

    def drop(self, but_vectors: bool = False) -> None:
        """Empties the cache after an update of the loss-net; `but_vectors` keeps the encoder's vectors."""
        self._with_graph = self._frozen = None
        if not but_vectors:
            self._vectors = None

    def _compute(self, nets: "Objectives", state: TaskState) -> list[Any]:
        vectors = nets.vectors(state)
        self._vectors = None if vectors is None else vectors.detach()
        self._with_graph = nets.features(state, vectors)
        self._frozen = [None if feature is None else feature.detach() for feature in self._with_graph]
        return self._with_graph


class LossTerms(NamedTuple):
    """
    The arguments of a task loss.

    # Parameters

    task_net : `NetTerms`
    cost_augmented : `NetTerms`, optional
        `None` without a cost-augmented network.
    gold_energy : `torch.Tensor`, `(batch,)`, optional
        `None` if the loss does not need it, or the energy is not used.
    """

    task_net: NetTerms
    cost_augmented: Optional[NetTerms]
    gold_energy: Optional[torch.Tensor]


class Objectives(torch.nn.Module):
    """
    The losses of the two players: `L_E`, which the loss-net minimises, and `L_F`, which the task-net minimises. It is
    the base class of modules with the attributes below: `TwoNets` for any training loop, `SealModel` for AllenNLP.
    """

    task_net: Optional[torch.nn.Module]
    loss_net: Optional[LossNet]
    cost_augmented_net: Optional[CostAugmentedNet]
    output_space: OutputSpace
    sampler: Optional[Sampler]
    energy_loss: Optional[EnergyLoss]
    task_loss: TaskLoss
    #: The error message for a training batch without gold.
    no_gold = "gold: the batch has none to learn from; without it, only a task-net can learn, with supervised=False."

    def task_state(self, *args: Any, **kwargs: Any) -> TaskState:
        """Runs the task-net on a batch, with its graph."""
        raise NotImplementedError

    def monitor(self, name: str, value: torch.Tensor) -> None:
        """A hook that receives the value of each loss and energy with its name."""

    def gold(self, state: TaskState) -> torch.Tensor:
        """The gold of a training batch; raises a `ConfigurationError` if there is none."""
        if state.gold is None:
            raise ConfigurationError(self.no_gold)
        return state.gold

    @property
    def uses_energy(self) -> bool:
        """Whether the task loss includes the energy."""
        return self.loss_net is not None and self.task_loss.energy_weight > 0

    def state_of_all_nets(self, **batch: Any) -> TaskState:
        """`task_state`, with the logits of the cost-augmented network, if there is one and the batch has gold."""
        state = self.task_state(**batch)
        if self.cost_augmented_net is not None and state.gold is not None and len(state.gold) > 0:
            output = TaskNetOutput(state.logits, state.hidden)
            state.cost_augmented = self.cost_augmented_net(state.inputs, output, state.gold, state.mask)
        return state

    def task_net_parameters(self) -> list[torch.nn.Parameter]:
        """`Phi`: all parameters outside the loss-net, including those of the output space."""
        loss_net = {id(parameter) for parameter in self.loss_net_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in loss_net]

    def loss_net_parameters(self) -> list[torch.nn.Parameter]:
        """`Theta`: the parameters of the loss-net; empty without one."""
        return [] if self.loss_net is None else list(self.loss_net.parameters())

    def sample(self, state: TaskState) -> Candidates:
        """Samples the loss-net's candidates with the present task-net, without gradients."""
        gold = self.gold(state)
        if len(gold) == 0:
            return Candidates(gold.unsqueeze(1))
        return self.sample_with(require(self.sampler, "sampler"), state, gold)

    def sample_with(self, sampler: Sampler, state: TaskState, gold: Optional[torch.Tensor]) -> Candidates:
        """Samples outputs for a batch, without gradients. `gold` may be `None` if the sampler does not need it."""
        features = Features()

        def energy(outputs: torch.Tensor) -> torch.Tensor:
            return require(self.loss_net, "loss_net")(features.frozen(self, state), outputs, state.mask)

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
            The result of `features` for this state; computed here if it is `None`.
        """
        gold, energy_loss = self.gold(state), require(self.energy_loss, "energy_loss")
        if len(gold) == 0:
            return no_loss(state.logits)
        features = self.features(state) if features is None else features
        outputs = self.output_space.stack(gold.unsqueeze(1), candidates.outputs)
        energy = require(self.loss_net, "loss_net")(features, outputs, state.mask)
        gold_energy, energy = energy[:, 0], energy[:, 1:]
        comparison = Comparison(gold_energy, energy, candidates, gold, self.output_space, state.mask)
        loss = energy_loss(comparison).mean()
        self.monitor("loss_net_loss", loss)
        self.monitor("energy_gold", gold_energy.mean())
        draws = candidates.log_counts().to(energy).exp()
        self.monitor("energy_candidates", energy.masked_fill(draws == 0, 0.0).mul(draws).sum() / draws.sum())
        if not self.training:
            same, total = self.output_space.overlap(candidates.outputs, gold, state.mask)
            others = total > same
            if bool(others.any()):
                ranked = (energy > gold_energy.unsqueeze(1))[others].float().mean()
                self.monitor("ranking_accuracy", 100 * ranked)
        return loss

    def vectors(self, state: TaskState) -> Optional[torch.Tensor]:
        """The vectors of the loss-net's encoder, with their graph; `None` for an empty batch."""
        if len(state.logits) == 0:
            return None
        return require(self.loss_net, "loss_net").vectors(state.inputs, state.hidden)

    def features(self, state: TaskState, vectors: Optional[torch.Tensor] = None) -> list[Any]:
        """
        The loss-net's features of the input, one item for each of its terms, with their graph.

        # Parameters

        vectors : optional
            The result of `vectors` for this state; computed here if it is `None`.
        """
        vectors = self.vectors(state) if vectors is None else vectors
        if vectors is None:
            return []
        return require(self.loss_net, "loss_net").condition(vectors, state.inputs, state.mask)

    def frozen_features(self, state: TaskState, vectors: Optional[torch.Tensor] = None) -> list[Any]:
        """`features` as constants."""
        with without_dropout(self.loss_net), torch.no_grad():
            return self.features(state, vectors)

    def energy(self, state: TaskState, outputs: torch.Tensor) -> torch.Tensor:
        """
        `E(x, y)` of the given outputs, in a model with a loss-net, whose parameters are constants here.

        # Parameters

        state : `TaskState`
            The result of `task_state` for the inputs.
        outputs : `torch.Tensor`, `(batch, samples, *output)`
            Discrete or relaxed. For gold, `state.gold.unsqueeze(1)`.

        # Returns

        `torch.Tensor`, `(batch, samples)`, with a graph into relaxed outputs only

        # Raises

        `ConfigurationError` if the outputs have another shape or type, or are out of range: unknown indices of tags, or
        numbers outside [0, 1].
        """
        self.output_space.check_outputs(outputs, state.logits)
        if len(outputs) == 0:
            return state.logits.new_zeros(outputs.shape[:2])
        with constant(self.loss_net):
            return require(self.loss_net, "loss_net")(self.frozen_features(state), outputs, state.mask)

    def task_net_loss(
        self, state: TaskState, features: Optional[list[Any]] = None, supervised: bool = True
    ) -> torch.Tensor:
        """
        `L_F` plus the auxiliary losses: a scalar with a graph into the task-net and the cost-augmented network only.

        # Parameters

        features : optional
            The result of `frozen_features`; required if the energy's weight is not 0.
        supervised : `bool`, optional (default = `True`)
            False: the loss is `E(x, F(x))` alone, and gold is ignored.
        """
        if len(state.logits) == 0:
            loss = no_loss(state.logits)
        elif not supervised:
            with constant(self.loss_net):
                loss = self._energy_of_prediction(state, require(features, "features")).mean()
            self.monitor("energy_prediction", loss)
            return loss
        else:
            self.gold(state)
            with constant(self.loss_net):
                terms = self._terms(state, features)
            loss = self.task_loss(*terms).mean()
            self.monitor(self.task_loss.supervised_name, terms.task_net.supervised.mean())
            if terms.task_net.energy is not None:
                self.monitor("energy_prediction", terms.task_net.energy.mean())
            if terms.cost_augmented is not None and terms.cost_augmented.energy is not None:
                self.monitor("energy_cost_augmented", terms.cost_augmented.energy.mean())
        for name, auxiliary in state.auxiliary_losses.items() if supervised else ():
            self.monitor(name, auxiliary)
            loss = loss + auxiliary
        self.monitor("task_net_loss", loss)
        return loss

    def joint_loss(self, batch: Any) -> torch.Tensor:
        """
        `L_F` of a batch as a function of both nets: a scalar with a graph into each, which an implicit gradient
        differentiates twice. As in `task_net_loss`, the loss-net has no dropout. No metric is updated.
        """
        losses = self.joint_losses(batch)
        return constant_loss(self.parameters()) if len(losses) == 0 else losses.mean()

    def joint_losses(self, batch: Any) -> torch.Tensor:
        """The losses whose mean is `joint_loss`, `(instances,)`. The auxiliary losses are added to each."""
        state = self.state_of_all_nets(**batch)
        if len(self.gold(state)) == 0:
            return state.logits.new_zeros(0)
        with without_dropout(self.loss_net):
            features = self.features(state)
            losses = self.task_loss(*self._terms(state, features))
        return losses + sum(state.auxiliary_losses.values())

    def _terms(self, state: TaskState, features: Optional[list[Any]]) -> LossTerms:
        """The terms of the task loss; without `features` they have no energy."""
        space, gold, mask = self.output_space, self.gold(state), state.mask
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
            energies = list(require(self.loss_net, "loss_net")(features, outputs, mask).unbind(dim=1))
            if self.task_loss.needs_gold_energy:
                gold_energy = energies.pop()
        supervised = [self.task_loss.supervised_in_steps(space, state.earlier, state.logits, gold, mask)]
        supervised += [self.task_loss.supervised(space, logits, gold, mask) for logits in networks[1:]]
        terms = [NetTerms(*parts) for parts in zip(supervised, energies, costs)]
        return LossTerms(terms[0], terms[1] if len(terms) > 1 else None, gold_energy)

    @torch.enable_grad()
    def energy_alignment(self, state: TaskState, features: Optional[list[Any]] = None) -> torch.Tensor:
        """
        The agreement of the energy with gold: the cosine between the gradients, with respect to the logits, of the
        energy term of the task loss and of the cross-entropy. A scalar from -1 to 1; 0 if one gradient is 0.

        # Parameters

        features : optional
            The result of `frozen_features` for this state; computed here if it is `None`.
        """
        features = self.frozen_features(state) if features is None else features
        logits = state.logits.detach().requires_grad_()
        # cuDNN's LSTM has no backward pass in evaluation mode.
        with constant(self.loss_net), torch.backends.cudnn.flags(enabled=False):
            energy = self._energy_of_prediction(replace(state, logits=logits), features)
            loss = self.output_space.cross_entropy(logits, self.gold(state), state.mask)
            by_energy, by_gold = (torch.autograd.grad(part.sum(), logits)[0].flatten() for part in (energy, loss))
        return torch.cosine_similarity(by_energy, by_gold, dim=0)

    def _energy_of_prediction(self, state: TaskState, features: list[Any]) -> torch.Tensor:
        """The energy term of the task loss: the energy of the task-net's output, `(batch,)`."""
        space, mask = self.output_space, state.mask
        if self.task_loss.through_draws:
            return self.task_loss.energy_of_samples(
                space, state.logits, lambda outputs: require(self.loss_net, "loss_net")(features, outputs, mask), mask
            )
        return require(self.loss_net, "loss_net")(features, self._relaxed(state.logits, mask), mask).squeeze(1)

    def _relaxed(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        output = self.output_space.relax(logits, mask)
        return self.output_space.straight_through(output) if self.task_loss.straight_through else output


def no_loss(like: torch.Tensor) -> torch.Tensor:
    """
    The loss of a batch without instances: 0. Its backward pass gives no parameter a gradient, so that an optimizer step
    changes nothing, not even by momentum or weight decay.
    """
    return like.new_zeros(()).requires_grad_(True)


def constant_loss(parameters: Iterable[torch.nn.Parameter]) -> torch.Tensor:
    """The loss of a batch without instances with gradients of 0, for workers that average gradients."""
    return sum((parameter.sum() * 0 for parameter in parameters if parameter.requires_grad), torch.zeros(()))
