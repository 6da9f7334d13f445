from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Type

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model

from seal.common.module_modes import constant, without_dropout
from seal.losses import EnergyLoss, NetTerms, TaskLoss
from seal.metrics import Monitors, UnknownGold
from seal.models.batch_checks import check_gold
from seal.models.consistency import warn_of_differing_settings
from seal.models.loss_terms import LossTerms
from seal.models.model_checks import (
    check_cost_augmented,
    check_loss_net_parts,
    check_no_loss_net_parts,
    check_structure,
    check_trained,
    check_who_predicts,
)
from seal.models.pretrained import load_pretrained
from seal.models.task_state import TaskState
from seal.nets import CostAugmentedNet, LossNet, TaskNet, TaskNetOutput
from seal.output_spaces import Candidates, OutputSpace
from seal.samplers import Sampler, SamplingProblem
from seal.structure.structure import Structure


class SealModel(Model):
    """
    A task-net, and what trains it: a loss-net with its sampler and loss. There is a subclass for each task, which
    defines how a batch becomes a `TaskState` (`task_state`) and adds metrics and decoding. Trainers call the losses
    below, one player at a time.

    Called like any AllenNLP model, it is the task-net alone, with its cross-entropy as `loss`; or, if `inference` is
    set, that sampler predicts by minimising the loss-net's energy.

    # Parameters

    vocab : `Vocabulary`
    output_space : `OutputSpace`
    task_net : `TaskNet`, optional (default = `None`)
        `None`: an energy-only model (SPEN, DVN), which predicts by `inference`.
    loss_net : `LossNet`, optional (default = `None`)
        `None`: cross-entropy training.
    sampler : `Sampler`, optional
        The loss-net's candidates. Needed with a loss-net.
    energy_loss : `EnergyLoss`, optional
        Trains the loss-net. Needed with a loss-net.
    task_loss : `TaskLoss`, optional (default = `TaskLoss()`)
        Trains the task-net.
    inference : `Sampler`, optional (default = `None`)
        Predicts from the energy, in place of the task-net: `gradient_based_inference`.
    cost_augmented_net : `CostAugmentedNet`, optional (default = `None`)
        A second network for the loss-net to learn from; no prediction needs it. The task loss `inference_network`
        trains it with the task-net.
    structure : `Structure`, optional (default = `None`)
        Chooses among whole outputs in prediction (see `seal.structure`). The trainer learns it after the task-net, from
        scores of nets that have not seen the instance (its setting `folds`).

    # Raises

    `ConfigurationError` if a loss-net lacks its sampler or its loss; the loss needs the log-probability of
    candidates that the sampler cannot give, or rewards that the model does not; nothing can predict, or train the
    task-net; the task loss has no task-net, or an energy weight without a loss-net; a sampler reads a task-net that is
    not there; a cost-augmented network lacks what trains or uses it; or a pretrained file does not fit.
    """

    #: The metric's name for the loss of further heads.
    auxiliary_name = "auxiliary_loss"
    #: Whether `draw` returns `RewardedCandidates`.
    gives_rewards = False
    #: Whether `inference` can predict in the place of the task-net.
    takes_inference = True
    #: The kind of `Structure` that can choose among the task's outputs.
    structure_kind: Optional[Type[Structure]] = None
    #: The key of gold in the metadata of an instance: a list of names.
    gold_key = "tags"

    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        task_net: Optional[Lazy[TaskNet]] = None,
        loss_net: Optional[Lazy[LossNet]] = None,
        sampler: Optional[Sampler] = None,
        energy_loss: Optional[EnergyLoss] = None,
        task_loss: Optional[TaskLoss] = None,
        inference: Optional[Sampler] = None,
        cost_augmented_net: Optional[Lazy[CostAugmentedNet]] = None,
        structure: Optional[Lazy[Structure]] = None,
    ) -> None:
        super().__init__(vocab)
        check_cost_augmented(cost_augmented_net, task_net, loss_net, sampler, energy_loss, task_loss)
        check_who_predicts(task_net, loss_net, inference, sampler)
        check_trained(task_net, task_loss, output_space)
        self.output_space = output_space
        # The task-net is built first, so that its random start is the same with a loss-net and without.
        self.task_net = None if task_net is None else task_net.construct(output_space=output_space)
        self.loss_net: Optional[LossNet] = None
        self.cost_augmented_net: Optional[CostAugmentedNet] = None
        self.sampler, self.energy_loss = sampler, energy_loss
        self.task_loss = task_loss or TaskLoss()
        self.inference = inference
        check_structure(self, structure)
        self.structure: Optional[Structure] = None
        if structure is not None:
            self.structure = structure.construct(**self.structure_settings())
        if loss_net is None:
            check_no_loss_net_parts(sampler, energy_loss, task_loss)
        else:
            check_loss_net_parts(output_space, sampler, energy_loss, self.gives_rewards)
            warn_of_differing_settings(sampler, energy_loss, self.task_loss)
            dim = None if self.task_net is None else self.task_net.get_output_dim()
            # The nets that train it draw their random starts from a copy of the generator, so that further heads,
            # dropout and batches, too, have the same random numbers with them and without.
            with torch.random.fork_rng(devices=[]):
                self.loss_net = loss_net.construct(output_space=output_space, task_net_dim=dim)
                if cost_augmented_net is not None:
                    self.cost_augmented_net = cost_augmented_net.construct(
                        output_space=output_space, task_net_dim=dim
                    )
            self.register_forward_pre_hook(_check_trainer)
        for name in ("task_net", "loss_net", "cost_augmented_net"):
            net = getattr(self, name)
            if net is not None and net.pretrained_file is not None:
                load_pretrained(net, name, net.pretrained_file, output_space, vocab)
        #: Whether `forward` also returns the energy of what is predicted, outside training.
        self.with_energy = False
        #: Gold that the vocabulary lacks: a subclass refuses it in training and counts it in evaluation.
        self.unknown_gold = UnknownGold(output_space.labels, output_space.namespace, self.gold_key)
        #: The training losses that `get_metrics` reports.
        self.monitors = Monitors()

    # What a subclass defines.

    def task_state(self, **batch: Any) -> TaskState:
        """Runs the task-net on a batch, with its graph."""
        raise NotImplementedError

    def structure_settings(self) -> Dict[str, Any]:
        """What a `Structure` for the task's outputs is constructed with, beside its own settings."""
        raise NotImplementedError

    def held_out(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        """
        What the structure is learned from: the task-net's scores of a batch and its gold, as tensors on the CPU and
        plain values. The model is in evaluation mode.
        """
        raise NotImplementedError

    def fit_structure(self, training: List[Dict[str, Any]], validation: List[Dict[str, Any]]) -> Dict[str, Any]:
        """
        Learns the structure from what `held_out` has returned for the batches of the training data, each by a net that
        has not seen it, and of the validation data. Returns what was learned and chosen, plain values.
        """
        raise NotImplementedError

    def _task_net_output(self, inputs: Dict[str, Any], *shape: int) -> TaskNetOutput:
        """The task-net's output; without a task-net, zeros of the given shape in the place of its logits."""
        if self.task_net is None:
            return TaskNetOutput(next(self.loss_net.parameters()).new_zeros(shape), hidden=None)
        return self.task_net(inputs)

    # What trainers call.

    def state_of_all_nets(self, **batch: Any) -> TaskState:
        """`task_state`, with the logits of the cost-augmented network if there is one and gold is given."""
        state = self.task_state(**batch)
        if self.cost_augmented_net is not None and state.gold is not None and len(state.gold) > 0:
            output = TaskNetOutput(state.logits, state.hidden)
            state.cost_augmented = self.cost_augmented_net(state.inputs, output, state.gold, state.mask)
        return state

    def task_net_parameters(self) -> List[torch.nn.Parameter]:
        """`Phi`: everything but the loss-net."""
        theirs = {id(parameter) for parameter in self.loss_net_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in theirs]

    def loss_net_parameters(self) -> List[torch.nn.Parameter]:
        """`Theta`; empty without a loss-net. An output space's parameters count as the task-net's."""
        if self.loss_net is None:
            return []
        shared = {id(parameter) for parameter in self.output_space.parameters()}
        return [parameter for parameter in self.loss_net.parameters() if id(parameter) not in shared]

    def prediction_parameters(self) -> List[torch.nn.Parameter]:
        """
        The parameters that predictions depend on: the task-net's, the loss-net's where `inference` predicts, or both.
        """
        by_energy = [] if self.inference is None else self.loss_net_parameters()
        if by_energy and not (self.inference.needs_task_net or self.loss_net.shares_encoder):
            return by_energy
        trained_with = set() if self.cost_augmented_net is None else set(self.cost_augmented_net.parameters())
        return [parameter for parameter in self.task_net_parameters() if parameter not in trained_with] + by_energy

    def draw(self, state: TaskState) -> Candidates:
        """The loss-net's candidates, drawn with the present task-net; constants."""
        check_gold(state.gold)
        if len(state.gold) == 0:
            return Candidates(state.gold.unsqueeze(1))
        return self.sample_with(self.sampler, state, state.gold)

    def infer(self, state: TaskState) -> torch.Tensor:
        """What `inference` predicts: relaxed outputs, `(batch, *structure)`, constants."""
        return self.sample_with(self.inference, state, None).outputs.squeeze(1)

    def check_inference(self, inference: Sampler) -> None:
        """
        # Raises

        `ConfigurationError` if the model takes no inference, or the sampler cannot predict with its nets.
        """
        if not self.takes_inference:
            raise ConfigurationError(f"model.inference: {type(self).__name__} predicts by its task-net alone.")
        check_who_predicts(self.task_net, self.loss_net, inference, self.sampler)

    @contextmanager
    def predicting_by(self, inference: Sampler) -> Iterator[None]:
        """
        Meanwhile the model, outside training, predicts by the given sampler, as if it were `model.inference`; of which
        `check_inference` must approve.
        """
        before, self.inference = self.inference, inference
        try:
            yield
        finally:
            self.inference = before

    def sample_with(self, sampler: Sampler, state: TaskState, gold: Optional[torch.Tensor]) -> Candidates:
        """Samples outputs for a batch, as constants. `gold` may be `None` for a sampler that does not read it."""
        features: List[Any] = []

        def energy(outputs: torch.Tensor) -> torch.Tensor:
            if not features:
                features.append(self.frozen_features(state))
            return self.loss_net(features[0], outputs, state.mask)

        logits, cost_augmented = state.logits.detach(), state.cost_augmented
        cost_augmented = None if cost_augmented is None else cost_augmented.detach()
        needs_log_prob = self.energy_loss is not None and self.energy_loss.needs_noise_log_prob
        with constant(self.loss_net):
            return sampler(
                SamplingProblem(
                    logits, gold, state.mask, self.output_space, energy, cost_augmented, needs_log_prob
                )
            )

    def loss_net_loss(
        self, state: TaskState, candidates: Candidates, features: Optional[List[Any]] = None
    ) -> torch.Tensor:
        """
        `L_E`, the mean over the batch: a scalar with a graph into the loss-net, and into the task-net if the
        candidates have one.

        # Parameters

        features : optional
            What `features` returns for this state; computed here if it is `None`.
        """
        if len(state.gold) == 0:
            return no_loss(state.logits)
        features = self.features(state) if features is None else features
        outputs = self.output_space.stack(state.gold.unsqueeze(1), candidates.outputs)
        energy = self.loss_net(features, outputs, state.mask)
        gold_energy, energy = energy[:, 0], energy[:, 1:]
        loss = self.energy_loss(
            gold_energy, energy, candidates, state.gold, self.output_space, state.mask
        ).mean()
        self.monitor("loss_net_loss", loss)
        self.monitor("energy_gold", gold_energy.mean())
        if not self.training:
            same, all_there_is = self.output_space.overlap(candidates.outputs, state.gold, state.mask)
            others = all_there_is > same
            if bool(others.any()):
                ranked = (energy > gold_energy.unsqueeze(1))[others].float().mean()
                self.monitor("ranking_accuracy", 100 * ranked)
        return loss

    @torch.no_grad()
    def score_loss_net(self, batch: Dict[str, Any]) -> None:
        """
        For a batch of validation data, adds to what `get_metrics` reports: `loss_net_loss`; `ranking_accuracy`, the
        percentage of candidates, apart from those that equal gold, whose energy is above gold's; and `energy_gold`. A
        batch without gold, or with gold that the vocabulary lacks, has none of them. The model is in evaluation mode.
        """
        if any(self.unknown_gold.names_of(batch.get("metadata"))):
            return
        state = self.state_of_all_nets(**batch)
        if state.gold is not None and len(state.gold) > 0:
            self.loss_net_loss(state, self.draw(state))

    def features(self, state: TaskState) -> List[Any]:
        """The loss-net's features of the input, one item for each of its terms, with their graph."""
        if len(state.logits) == 0:
            return []
        return self.loss_net.encode(state.inputs, state.hidden, state.mask)

    def frozen_features(self, state: TaskState) -> List[Any]:
        """`features` as constants."""
        with without_dropout(self.loss_net), torch.no_grad():
            return self.features(state)

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
        """
        if len(outputs) == 0:
            return state.logits.new_zeros(outputs.shape[:2])
        with constant(self.loss_net):
            return self.loss_net(self.frozen_features(state), outputs, state.mask)

    def task_net_loss(
        self, state: TaskState, features: Optional[List[Any]] = None, supervised: bool = True
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
                loss = self.loss_net(features, self._relaxed(state.logits, state.mask), state.mask).mean()
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
        if len(state.gold) == 0:
            return state.logits.new_zeros(0)
        with without_dropout(self.loss_net):
            features = self.features(state)
            losses = self.task_loss(*self._terms(state, features))
        return losses if state.auxiliary_loss is None else losses + state.auxiliary_loss

    def _terms(self, state: TaskState, features: Optional[List[Any]]) -> LossTerms:
        """Without `features` the terms have no energy."""
        space, gold, mask = self.output_space, state.gold, state.mask
        networks = [state.logits] if state.cost_augmented is None else [state.logits, state.cost_augmented]
        energies: List[Optional[torch.Tensor]] = [None] * len(networks)
        costs, gold_energy = list(energies), None
        if features is not None:
            outputs = torch.cat([self._relaxed(logits, mask) for logits in networks], dim=1)
            cost = self.task_loss.cost(space, outputs, gold, mask)
            costs = costs if cost is None else list(cost.unbind(dim=1))
            if self.task_loss.needs_gold_energy:
                outputs = space.stack(outputs, gold.unsqueeze(1))
            # shape: (batch, nets) or, with gold's, (batch, nets + 1)
            energies = list(self.loss_net(features, outputs, mask).unbind(dim=1))
            if self.task_loss.needs_gold_energy:
                gold_energy = energies.pop()
        terms = [
            NetTerms(self.task_loss.supervised(space, logits, gold, mask), energy, cost)
            for logits, energy, cost in zip(networks, energies, costs)
        ]
        return LossTerms(terms[0], terms[1] if len(terms) > 1 else None, gold_energy)

    def _relaxed(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        output = self.output_space.relax(logits, mask)
        return self.output_space.straight_through(output) if self.task_loss.straight_through else output

    def monitor(self, name: str, value: torch.Tensor) -> None:
        """Adds to the running mean that `get_metrics` reports under `name`."""
        self.monitors.add(name, float(value.detach()))

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        if reset:
            self.unknown_gold.warn()
        return self.monitors.means(reset)


def _check_trainer(model: SealModel, inputs: Tuple[Any, ...]) -> None:
    """Refuses AllenNLP's own trainer: it would call the model, whose loss is cross-entropy alone, not its parts."""
    if model.training:
        raise ConfigurationError(
            "trainer.type: AllenNLP's own trainer would leave the loss-net out; take 'alternating' or another of "
            "seal's, or leave model.loss_net out. To change a single key by --overrides, name it with dots "
            "('trainer.num_epochs'): an object in that place replaces the whole trainer."
        )


def no_loss(like: torch.Tensor) -> torch.Tensor:
    """
    The loss of a batch without an instance: 0, which can be backpropagated and leaves no parameter a gradient, so that
    optimizers move none of them by momentum or decay either.
    """
    return like.new_zeros(()).requires_grad_(True)


def constant_loss(parameters: Iterable[torch.nn.Parameter]) -> torch.Tensor:
    """The same with gradients of 0, for workers that average theirs with those of others."""
    return sum((parameter.sum() * 0 for parameter in parameters if parameter.requires_grad), torch.zeros(()))
