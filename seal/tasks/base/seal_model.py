"""The base class of the models."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.models import Model

from seal.common.setting_checks import error_prefix, require
from seal.losses import EnergyLoss, TaskLoss
from seal.nets import CostAugmentedNet, LossNet, TaskNet, TaskNetOutput
from seal.output_spaces import OutputSpace
from seal.samplers import Sampler
from seal.structure.structure import Structure
from seal.tasks.base.equal_settings import differing_settings
from seal.tasks.base.pretrained_nets import load_pretrained
from seal.tasks.base.running_means import RunningMeans
from seal.tasks.base.unknown_gold import UnknownGold
from seal.two_player.model_checks import (
    check_cost_augmented,
    check_loss_net_parts,
    check_no_loss_net_parts,
    check_structure,
    check_trained,
    check_who_predicts,
)
from seal.two_player.objectives import Objectives, TaskState

logger = logging.getLogger(__name__)


class SealModel(Model, Objectives):
    """
    A task-net and the loss-net that trains it, with the loss-net's sampler and loss. Each task has a subclass, which
    turns a batch into a `TaskState` (`task_state`) and adds decoding and metrics. The trainers call the losses of the
    two nets (`Objectives`) in turn.

    Calling the model runs the task-net alone and returns its cross-entropy as `loss`. If `inference` is set, this
    sampler predicts by minimising the loss-net's energy.

    # Parameters

    vocab : `Vocabulary`
    output_space : `OutputSpace`
    task_net : `TaskNet`, optional (default = `None`)
        `None`: an energy-only model (SPEN, DVN), which predicts by `inference`.
    loss_net : `LossNet`, optional (default = `None`)
        `None`: cross-entropy training.
    sampler : `Sampler`, optional
        Generates the loss-net's candidates. Required with a loss-net.
    energy_loss : `EnergyLoss`, optional
        Trains the loss-net. Required with a loss-net.
    task_loss : `TaskLoss`, optional (default = `TaskLoss()`)
        Trains the task-net.
    inference : `Sampler`, optional (default = `None`)
        Predicts by the energy instead of the task-net: `gradient_based_inference`, or `rerank`, which chooses among the
        task-net's outputs.
    cost_augmented_net : `CostAugmentedNet`, optional (default = `None`)
        A second network, which generates candidates for the loss-net in training only. The task loss
        `inference_network` trains it together with the task-net.
    structure : `Structure`, optional (default = `None`)
        Chooses among whole outputs in prediction (see `seal.structure`). The trainer fits it after the task-net, by
        cross-fitting (the trainer's setting `folds`): each instance is scored by a net that was not trained on it.
    score : `str`, optional
        The score that the structure's decision maximises: by default F1 (accuracy for tags that encode no spans);
        `"exact_match"` for whole outputs.

    # Raises

    `ConfigurationError` if the loss-net has no sampler or no loss; if the loss needs log-probabilities of candidates or
    rewards and the sampler or the model gives none; if nothing can predict, or nothing can train the task-net; if there
    is a task loss without a task-net, or a task loss with an energy weight without a loss-net; if a sampler needs a
    missing task-net; if nothing trains or uses the cost-augmented network; or if a pretrained file does not fit.
    """

    task_net: Optional[TaskNet]
    #: An instance of `structure_kind`, or `None`.
    structure: Any
    _score: Any
    _own_score: Any
    #: Whether `sample` returns `RewardedCandidates`.
    gives_rewards = False
    #: The class of `Structure` that can choose among the task's outputs.
    structure_kind: Optional[type[Structure]] = None
    #: Whether the model implements `drawn` and `pseudo_labelled`.
    can_pseudo_label = False
    #: The key of the predicted output in the result of a call.
    predicted_name = "tags"
    no_gold = (
        "train_data_path: the data have no gold to learn from; a phase of trainer.phases needs none if its "
        "'supervised' is false, and the callback 'trace_inference_networks' always needs it."
    )
    #: The fields of a batch that hold gold.
    gold_fields: tuple[str, ...] = ("tags",)
    #: The key of the gold labels, a list of names, in the metadata of an instance.
    gold_key = "tags"
    #: The scores that `get_metrics` also reports for the task-net's own output, if the structure is fitted.
    own_scores: tuple[str, ...] = ()

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
        score: Optional[str] = None,
    ) -> None:
        super().__init__(vocab)
        with error_prefix("model"):
            check_cost_augmented(cost_augmented_net, task_net, loss_net, sampler, energy_loss, task_loss)
            check_who_predicts(task_net, loss_net, inference, sampler)
            check_trained(task_net, task_loss)
            check_structure(self, structure, score, inference)
            if loss_net is None:
                check_no_loss_net_parts(sampler, energy_loss, task_loss)
            else:
                check_loss_net_parts(sampler, energy_loss, self.gives_rewards)
        self.output_space = output_space
        # The task-net is built first, so that its random start is the same with a loss-net and without.
        self.task_net = None if task_net is None else task_net.construct(output_space=output_space)
        self.loss_net: Optional[LossNet] = None
        self.cost_augmented_net: Optional[CostAugmentedNet] = None
        self.sampler, self.energy_loss = sampler, energy_loss
        self.task_loss = task_loss or TaskLoss()
        self.inference = inference
        self.structure = None
        if structure is not None:
            self.structure = structure.construct(**self.structure_settings())
            if score is not None:
                with error_prefix("model"):
                    self.structure.main_score = score
        if loss_net is not None:
            parts = require(sampler, "sampler"), require(energy_loss, "energy_loss"), self.task_loss
            for sentence in differing_settings(*parts):
                logger.warning(sentence[0].upper() + sentence[1:])
            dim = None if self.task_net is None else self.task_net.get_output_dim()
            # Both nets draw their initial weights from a copy of the generator, so that auxiliary heads, dropout and
            # batches have the same random numbers with a loss-net and without.
            with torch.random.fork_rng(devices=[]):
                self.loss_net = loss_net.construct(output_space=output_space, task_net_dim=dim)
                if cost_augmented_net is not None:
                    self.cost_augmented_net = cost_augmented_net.construct(output_space=output_space, task_net_dim=dim)
            self.register_forward_pre_hook(_check_trainer)
        #: The path of the trained model that a net's weights come from, by the net's name.
        self.starts_from: dict[str, str] = {}
        for name, net in self.nets().items():
            if net.pretrained_file is not None:
                load_pretrained(net, name, net.pretrained_file, output_space, vocab)
                self.starts_from[name] = net.pretrained_file
        #: Whether `forward` also returns the energy of the predicted output, outside training.
        self.with_energy = False
        #: Whether `forward` also returns the structure's probability that the predicted output is correct.
        self.with_probability = False
        #: The gold labels that the vocabulary lacks: an error in training, counted as missed in evaluation.
        self.unknown_gold = UnknownGold(output_space.labels, output_space.namespace, self.gold_key)
        #: The training losses that `get_metrics` reports.
        self.monitors = RunningMeans()

    # Methods for the subclasses.

    def structure_settings(self) -> dict[str, Any]:
        """The task's arguments of the constructor of its `Structure`, added to the arguments from the config."""
        raise NotImplementedError

    def held_out(self, batch: dict[str, Any]) -> dict[str, Any]:
        """
        The data for fitting the structure: the task-net's scores of a batch and its gold, as tensors on the CPU and
        plain values. The model is in evaluation mode.
        """
        raise NotImplementedError

    def fit_structure(self, training: list[dict[str, Any]], validation: list[dict[str, Any]]) -> dict[str, Any]:
        """
        Fits the structure.

        # Parameters

        training, validation : `list[dict[str, Any]]`
            The results of `held_out` for the batches of the training data, each scored by a net that was not trained on
            it, and of the validation data.

        # Returns

        The fitted and the selected parameters as plain values, for the log.
        """
        raise NotImplementedError

    def pseudo_labels(self, batch: dict[str, Any], num_samples: Optional[int]) -> torch.Tensor:
        """
        Pseudo labels for self-training: `num_samples` independent samples for each input, `(batch, num_samples,
        *output)`, from the structure's distribution over whole outputs or, without a fitted structure, the task-net's.
        If `num_samples` is `None`, the predicted output, `(batch, 1, *output)`. The gold of the batch is ignored.
        """
        inputs = self.without_gold(batch)
        if num_samples is None:
            return self(**inputs)[self.predicted_name].unsqueeze(1)
        return self.drawn(inputs, num_samples)

    def without_gold(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The fields of a batch without `gold_fields`."""
        return {name: value for name, value in batch.items() if name not in self.gold_fields}

    def drawn(self, inputs: dict[str, Any], num_samples: int) -> torch.Tensor:
        """The samples of `pseudo_labels`, `(batch, num_samples, *output)`, for a batch without gold."""
        raise NotImplementedError

    def takes_pseudo_labels(self, instance: Instance) -> bool:
        """Whether self-training can use an instance, directly or after expansion (`needs_expansion`)."""
        return True

    def needs_expansion(self, instance: Instance) -> bool:
        """
        Whether self-training must first expand an instance into several inputs. For example, a sentence becomes one
        frame for each of its predicates.
        """
        return False

    def expansions(self, batch: dict[str, Any]) -> list[list[int]]:
        """The expansions that the model predicts for each instance of a batch, such as the indices of predicates."""
        raise NotImplementedError

    def expanded(self, instance: Instance, expansion: int) -> Instance:
        """The indexed input for one of the instance's `expansions`."""
        raise NotImplementedError

    def pseudo_labelled(self, instance: Instance, output: torch.Tensor) -> Instance:
        """An indexed instance with the gold `output`, label indices. It shares the other fields with `instance`."""
        raise NotImplementedError

    def nets(self) -> dict[str, Any]:
        """The model's nets by name: `task_net`, `loss_net`, `cost_augmented_net`; missing nets are left out."""
        nets = {name: getattr(self, name) for name in ("task_net", "loss_net", "cost_augmented_net")}
        return {name: net for name, net in nets.items() if net is not None}

    def _task_net_output(
        self, inputs: dict[str, Any], *shape: int, mask: Optional[torch.Tensor] = None
    ) -> TaskNetOutput:
        """The task-net's output; without a task-net, zero logits of the given shape."""
        if self.task_net is None:
            return TaskNetOutput(next(require(self.loss_net, "loss_net").parameters()).new_zeros(shape), hidden=None)
        return self.task_net(inputs, mask)

    @property
    def chooses(self) -> bool:
        """Whether the structure chooses among candidates."""
        return self.structure is not None and self.structure.uses_candidates()

    @property
    def has_learned_structure(self) -> bool:
        return self.structure is not None and self.structure.is_fitted

    @property
    def score_of_prediction(self) -> Optional[str]:
        """The score that the structure's decision maximises; `None` without a structure."""
        return None if self.structure is None else self.structure.main_score

    @property
    def gives_probability(self) -> bool:
        """Whether `with_probability` is set and the structure is fitted and calibrated."""
        return self.with_probability and self.has_learned_structure and self.structure.calibration is not None

    @property
    def gives_energy(self) -> bool:
        return self.with_energy and self.loss_net is not None

    def _scores(self, reset: bool) -> dict[str, float]:
        """
        The scores of the predicted outputs. If the structure is fitted, also its violations, and `own_scores` of the
        task-net's own outputs, as `NAME_own`.
        """
        scores = self._score.get_metric(reset)
        if self.has_learned_structure:
            own = self._own_score.get_metric(reset)
            scores = {**scores, **self.structure.violations(reset)}
            scores.update((f"{name}_own", own[name]) for name in self.own_scores if name in own)
        return scores

    def prediction_parameters(self) -> list[torch.nn.Parameter]:
        """
        The parameters that predictions depend on: the parameters of the task-net and, if `inference` is set, of the
        loss-net. An `inference` that does not run the task-net depends on the loss-net alone.
        """
        by_energy = [] if self.inference is None else self.loss_net_parameters()
        inference, loss_net = self.inference, self.loss_net
        if inference is not None and loss_net is not None and not (inference.needs_task_net or loss_net.shares_encoder):
            return by_energy
        trained_with = set() if self.cost_augmented_net is None else set(self.cost_augmented_net.parameters())
        return [parameter for parameter in self.task_net_parameters() if parameter not in trained_with] + by_energy

    def infer(self, state: TaskState) -> torch.Tensor:
        """Predicts by `inference`, without gradients: relaxed `(batch, *structure)` or discrete `(batch, *output)`."""
        return self.sample_with(require(self.inference, "inference"), state, None).outputs.squeeze(1)

    def check_inference(self, inference: Sampler) -> None:
        """
        Checks that the sampler `inference` can predict with the model's nets.

        # Raises

        `ConfigurationError` if it cannot.
        """
        with error_prefix("model"):
            check_who_predicts(self.task_net, self.loss_net, inference, self.sampler)

    def check_reader(self, reader: Optional[DatasetReader], key: str) -> None:
        """
        Checks before training that the reader limits the length of instances to the model's maximum.

        # Parameters

        reader : `DatasetReader`, optional
        key : `str`
            The reader's key in the config, for messages.

        # Raises

        `ConfigurationError` if the reader may return longer instances.
        """

    @contextmanager
    def predicting_by(self, inference: Sampler) -> Iterator[None]:
        """
        A context in which the model predicts by the sampler `inference`, as if it were `model.inference`. Call
        `check_inference` first: it refuses a sampler that cannot predict.
        """
        before, self.inference = self.inference, inference
        try:
            yield
        finally:
            self.inference = before

    @torch.no_grad()
    def score_loss_net(self, batch: dict[str, Any]) -> None:
        """
        Measures the loss-net on a batch of validation data, for `get_metrics`:

        - `loss_net_loss`: the energy loss.
        - `ranking_accuracy`: the percentage of candidates with a higher energy than gold, among the candidates that
          differ from gold.
        - `energy_gold`: the energy of gold.
        - `energy_alignment`, if the task-net learns from the energy: the cosine between the gradients of the energy and
          of cross-entropy with respect to the logits, averaged over batches.

        A batch without gold, or with a gold label that the vocabulary lacks, is skipped. The model is in evaluation
        mode.
        """
        if any(self.unknown_gold.names_of(batch.get("metadata"))):
            return
        state = self.state_of_all_nets(**batch)
        if state.gold is not None and len(state.gold) > 0:
            features = self.frozen_features(state)
            self.loss_net_loss(state, self.sample(state), features)
            if self.task_net is not None and self.uses_energy:
                self.monitor("energy_alignment", self.energy_alignment(state, features))

    def monitor(self, name: str, value: torch.Tensor) -> None:
        """Adds `value` to the running mean that `get_metrics` reports as `name`."""
        self.monitors.add(name, value)

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        if reset:
            self.unknown_gold.warn()
        return self.monitors.means(reset)


def _check_trainer(model: SealModel, inputs: tuple[Any, ...]) -> None:
    """Refuses AllenNLP's own trainer: it would minimise the `loss` of a call, which is the cross-entropy alone."""
    if model.training:
        raise ConfigurationError(
            "trainer.type: AllenNLP's own trainer would leave the loss-net out; take 'alternating' or another of "
            "seal's, or leave model.loss_net out. To change a single key by --overrides, name it with dots "
            "('trainer.num_epochs'): an object in that place replaces the whole trainer."
        )
