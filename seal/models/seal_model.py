from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model

from seal.losses import EnergyLoss, TaskLoss
from seal.metrics import Monitors
from seal.models.pretrained import load_pretrained
from seal.nets import LossNet, TaskNet
from seal.output_spaces import Candidates, OutputSpace
from seal.samplers import Sampler, SamplingProblem


@dataclass
class TaskState:
    """
    The task-net's view of a batch. Everything the two losses share, so that one pass of the task-net serves both.

    # Parameters

    inputs : `Dict[str, Any]`
        The tensors that encoders read.
    logits : `torch.Tensor`, `(batch, *structure)`
        With the task-net's graph; zeros without a task-net.
    hidden : `torch.Tensor`, `(batch, ..., size)`, optional
        `None` without a task-net.
    mask : `torch.BoolTensor`, optional
    gold : `torch.Tensor`, `(batch, *output)`, optional
    auxiliary_loss : `torch.Tensor`, a scalar, optional
        The loss of further heads of the task-net.
    """

    inputs: Dict[str, Any]
    logits: torch.Tensor
    hidden: Optional[torch.Tensor]
    mask: Optional[torch.Tensor] = None
    gold: Optional[torch.Tensor] = None
    auxiliary_loss: Optional[torch.Tensor] = None


class SealModel(Model):
    """
    A task-net, and what trains it: a loss-net with its sampler and loss. A subclass a task says how a batch becomes
    a `TaskState` (`task_state`) and adds metrics and decoding; trainers call the losses below, a player at a time.

    Called as a stock AllenNLP model it is the task-net alone, with its cross-entropy as `loss`; or, where
    `inference` is set, the loss-net, whose energy that sampler makes small.

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
        Predicts in the place of the task-net, from the energy: `gradient_based_inference`.

    # Raises

    `ConfigurationError` if a loss-net lacks its sampler or its loss; the loss needs the log-probability of
    candidates that the sampler cannot give; nothing can predict; or a pretrained file does not fit.
    """

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
    ) -> None:
        super().__init__(vocab)
        _check_who_predicts(task_net, loss_net, inference)
        self.output_space = output_space
        # The task-net is built first, so that its random start is the same with a loss-net and without.
        self.task_net = None if task_net is None else task_net.construct(output_space=output_space)
        self.loss_net: Optional[LossNet] = None
        self.sampler, self.energy_loss = sampler, energy_loss
        self.task_loss = task_loss or TaskLoss()
        self.inference = inference
        if loss_net is not None:
            _check_loss_net_parts(output_space, sampler, energy_loss)
            # Nor does the loss-net's random start move what comes after it: further heads, dropout, batches.
            with torch.random.fork_rng(devices=[]):
                self.loss_net = loss_net.construct(
                    output_space=output_space,
                    task_net_dim=None if self.task_net is None else self.task_net.get_output_dim(),
                )
        for name, net in (("task_net", self.task_net), ("loss_net", self.loss_net)):
            if net is not None and net.pretrained_file is not None:
                load_pretrained(net, name, net.pretrained_file, output_space)
        #: What `get_metrics` reports of training.
        self.monitors = Monitors()

    # What a subclass says.

    def task_state(self, **batch: Any) -> TaskState:
        """Runs the task-net on a batch, with its graph."""
        raise NotImplementedError

    # What trainers call.

    def task_net_parameters(self) -> List[torch.nn.Parameter]:
        """`Phi`: everything but the loss-net."""
        theirs = {id(parameter) for parameter in self.loss_net_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in theirs]

    def loss_net_parameters(self) -> List[torch.nn.Parameter]:
        """`Theta`; empty without a loss-net. What an output space learns is the task-net's."""
        if self.loss_net is None:
            return []
        shared = {id(parameter) for parameter in self.output_space.parameters()}
        return [parameter for parameter in self.loss_net.parameters() if id(parameter) not in shared]

    def draw(self, state: TaskState) -> Candidates:
        """Candidates for the loss-net from the task-net as it is; constants."""
        if len(state.gold) == 0:
            return Candidates(state.gold.unsqueeze(1))
        return self._sample(self.sampler, state, state.gold)

    def infer(self, state: TaskState) -> torch.Tensor:
        """What `inference` predicts: relaxed outputs, `(batch, *structure)`, constants."""
        return self._sample(self.inference, state, None).outputs.squeeze(1)

    def _sample(self, sampler: Sampler, state: TaskState, gold: Optional[torch.Tensor]) -> Candidates:
        features: List[Any] = []

        def energy(outputs: torch.Tensor) -> torch.Tensor:
            if not features:
                features.append(self.frozen_features(state))
            return self.loss_net(features[0], outputs, state.mask)

        logits = state.logits.detach()
        with constant(self.loss_net):
            return sampler(SamplingProblem(logits, gold, state.mask, self.output_space, energy))

    def loss_net_loss(self, state: TaskState, candidates: Candidates) -> torch.Tensor:
        """
        `L_E`, the mean over the batch: a scalar with a graph into the loss-net; and into the task-net where the
        candidates have one.
        """
        if len(state.gold) == 0:
            return no_loss(self.loss_net_parameters())
        features = self.loss_net.encode(state.inputs, state.hidden, state.mask)
        outputs = self.output_space.stack(state.gold.unsqueeze(1), candidates.outputs)
        energy = self.loss_net(features, outputs, state.mask)
        gold_energy, energy = energy[:, 0], energy[:, 1:]
        loss = self.energy_loss(
            gold_energy, energy, candidates, state.gold, self.output_space, state.mask
        ).mean()
        self.monitor("loss_net_loss", loss)
        self.monitor("energy_gold", gold_energy.mean())
        return loss

    def frozen_features(self, state: TaskState) -> List[Any]:
        """What the loss-net keeps of the input, as constants."""
        if len(state.logits) == 0:
            return []
        with constant(self.loss_net), torch.no_grad():
            return self.loss_net.encode(state.inputs, state.hidden, state.mask)

    def task_net_loss(self, state: TaskState, features: Optional[List[Any]] = None) -> torch.Tensor:
        """
        `L_F` and the loss of further heads: a scalar with a graph into the task-net only.

        # Parameters

        features : optional
            `frozen_features`, where the energy's weight is not 0.
        """
        if len(state.gold) == 0:
            loss = no_loss(self.task_net_parameters())
        else:
            supervised = self.task_loss.supervised(self.output_space, state.logits, state.gold, state.mask)
            energy = None
            if features is not None:
                with constant(self.loss_net):
                    energy = self._energy_of_prediction(state, features)
                self.monitor("energy_prediction", energy.mean())
            loss = self.task_loss(supervised, energy)
            self.monitor(self.task_loss.supervised_name, supervised.mean())
        if state.auxiliary_loss is not None:
            loss = loss + state.auxiliary_loss
        self.monitor("task_net_loss", loss)
        return loss

    def joint_loss(self, batch: Any) -> torch.Tensor:
        """
        `L_F` of a batch as a function of both nets: a scalar with a graph into each, which is what an implicit
        gradient differentiates twice. The loss-net has no dropout in it, as in `task_net_loss`. Nothing is
        logged.
        """
        state = self.task_state(**batch)
        if len(state.gold) == 0:
            return no_loss(list(self.parameters()))
        supervised = self.task_loss.supervised(self.output_space, state.logits, state.gold, state.mask)
        with without_dropout(self.loss_net):
            features = self.loss_net.encode(state.inputs, state.hidden, state.mask)
            energy = self._energy_of_prediction(state, features)
        loss = self.task_loss(supervised, energy)
        return loss if state.auxiliary_loss is None else loss + state.auxiliary_loss

    def _energy_of_prediction(self, state: TaskState, features: List[Any]) -> torch.Tensor:
        output = self.output_space.relax(state.logits, state.mask)
        if self.task_loss.straight_through:
            output = self.output_space.straight_through(output)
        return self.loss_net(features, output, state.mask).squeeze(1)

    def monitor(self, name: str, value: torch.Tensor) -> None:
        """Adds to the running mean that `get_metrics` reports under `name`."""
        self.monitors.add(name, float(value.detach()))

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self.monitors.means(reset)


@contextmanager
def constant(module: Optional[torch.nn.Module]):
    """Inside, `module` gets no gradient and no dropout; gradients still pass through it to its inputs."""
    if module is None:
        yield
        return
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        with without_dropout(module):
            yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)


@contextmanager
def without_dropout(module: torch.nn.Module):
    """Inside, `module` is in evaluation mode."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)


def no_loss(parameters: List[torch.nn.Parameter]) -> torch.Tensor:
    """The loss of a batch without an instance: 0, with gradients of 0."""
    return sum((parameter.sum() * 0 for parameter in parameters if parameter.requires_grad), torch.zeros(()))


def _check_who_predicts(task_net: Any, loss_net: Any, inference: Optional[Sampler]) -> None:
    if task_net is None and (loss_net is None or inference is None):
        raise ConfigurationError(
            "model.task_net: without one, a loss_net must predict, by model.inference "
            "{type: 'gradient_based_inference'}."
        )
    if inference is None:
        return
    if loss_net is None:
        raise ConfigurationError("model.inference: it descends the energy of a loss_net, and there is none.")
    if not inference.predicts:
        raise ConfigurationError(
            f"model.inference: {type(inference).__name__} as set does not predict; take "
            "'gradient_based_inference' with the objective 'energy', a start other than 'gold', and keep "
            "'best', or 'last' with one start."
        )


def _check_loss_net_parts(
    output_space: OutputSpace, sampler: Optional[Sampler], energy_loss: Optional[EnergyLoss]
) -> None:
    if not output_space.serves_loss_net:
        raise ConfigurationError(
            f"model.output_space: {type(output_space).__name__} is a baseline without a loss-net; drop model.loss_net, or "
            "take 'tag_sequence'."
        )
    if sampler is None or energy_loss is None:
        missing = "model.sampler" if sampler is None else "model.energy_loss"
        raise ConfigurationError(f"{missing}: a model with a loss_net needs it; see training_configs.")
    if energy_loss.needs_noise_log_prob and not sampler.gives_log_prob:
        raise ConfigurationError(
            f"model.energy_loss: {type(energy_loss).__name__} needs the log-probability of every candidate, and "
            f"model.sampler, {type(sampler).__name__}, gives none: take the sampler 'discrete', or the loss "
            "'ranking'."
        )
