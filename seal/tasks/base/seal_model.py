import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Vocabulary
from allennlp.models import Model

from seal.allennlp.trained_models import trained_weights
from seal.common.nested_values import shapes_of
from seal.common.setting_checks import error_prefix, require
from seal.losses import CompoundLoss, EnergyLoss, InferenceNetworkLoss, RegressionLoss, TaskLoss
from seal.nets import CostAugmentedNet, LossNet, TaskNet, TaskNetOutput
from seal.output_spaces import OutputSpace
from seal.samplers import GradientBasedInference, Sampler, StackedSampler
from seal.structure.structure import Structure
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


class NonFiniteOutput(ConfigurationError):
    """
    An output that is to be scored is not finite.

    # Parameters

    source : `str`, optional
        Where its input is from, `file:line`, if known.
    """

    def __init__(self, source: Optional[str]) -> None:
        where = f" for {source}" if source else ""
        super().__init__(
            f"the model's output{where} is not finite and cannot be scored: either the values of the input are too "
            "large for the model, or its training has diverged; scale the input, or train again at a lower rate."
        )
        self.source = source


def check_scored(scored: torch.Tensor, metadata: Optional[list[dict[str, Any]]]) -> None:
    """
    Refuses to score outputs, `(rows, ...)`, that are not finite: metrics would count them as predictions like any
    others.

    # Raises

    `NonFiniteOutput` for the first such row.
    """
    finite = torch.isfinite(scored)
    if not finite.all():
        row = int((~finite).flatten(1).any(dim=1).nonzero()[0])
        raise NonFiniteOutput(metadata[row].get("source") if metadata else None)


def known_rows(unknown: Sequence[Sequence[str]], losses: torch.Tensor) -> torch.Tensor:
    """
    The rows, of `losses (rows,)`, that have no gold the vocabulary lacks, which has no loss: `(rows,)`, boolean.
    `unknown` is what `UnknownGold.note` returns; if it is empty, all rows.
    """
    return torch.tensor([not names for names in unknown] or [True] * len(losses), device=losses.device)


def mean_of(values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The mean of `values` over the rows marked True; 0 where there is none."""
    return (values * rows).sum() / rows.sum().clamp(min=1)


logger = logging.getLogger(__name__)


def differing_settings(sampler: Sampler, energy_loss: EnergyLoss, task_loss: TaskLoss) -> list[str]:
    """
    A sentence for each setting of the energy loss that the sampler's search or the task loss has otherwise: the cost
    `Delta`, the score, or `lambda`. No paper has two of them, but a search may be by a smooth one.
    """
    found = []
    searches = sampler.samplers if isinstance(sampler, StackedSampler) else [sampler]
    for search in searches:
        if not isinstance(search, GradientBasedInference):
            continue
        if search.objective == "cost_augmented" and _differ(search.cost, energy_loss.cost):
            found.append("the cost of the search in model.sampler")
        if search.objective == "adversarial" and isinstance(energy_loss, RegressionLoss):
            if search.score != energy_loss.score:
                found.append("the score of the search in model.sampler")
    if isinstance(task_loss, InferenceNetworkLoss) and task_loss.energy_weight > 0:
        if task_loss.margin_weight > 0 and _differ(task_loss.margin_cost, energy_loss.cost):
            found.append("the cost in model.task_loss")
        two_networks = isinstance(energy_loss, CompoundLoss) and energy_loss.separate
        if two_networks and task_loss.perceptron_weight != energy_loss.perceptron_weight:
            found.append("the perceptron_weight in model.task_loss")
    return [f"{what} is not that of model.energy_loss; set both alike, unless this is meant." for what in found]


def _differ(one: object, other: Optional[object]) -> bool:
    """Whether the two differ, and the energy loss, whose is the `other`, has one."""
    return other is not None and one != other


def load_pretrained(
    net: torch.nn.Module,
    name: str,
    path: str,
    output_space: OutputSpace,
    vocab: Vocabulary,
    key: Optional[str] = None,
) -> None:
    """
    Gives a part of a model, such as a static loss-net or a frozen noise net, the weights that it has in a trained
    model. A checkpoint or an archive of the new model does not need that file.

    # Parameters

    net : `torch.nn.Module`
    name : `str`
        `"task_net"`, `"loss_net"` or `"cost_augmented_net"`.
    path : `str`
        A `model.tar.gz`, or the folder of a run.
    output_space : `OutputSpace`
        Its labels must be the trained model's, in the same order.
    vocab : `Vocabulary`
        Its numbering of the inputs (words, or attributes) must be the trained model's, too.
    key : `str`, optional (default = `"model.<name>.pretrained_file"`)
        That of the path, for messages.

    # Raises

    `ConfigurationError` if there is no such model, its labels or inputs differ or its part has another shape.
    """
    key = key or f"model.{name}.pretrained_file"
    weights = trained_weights(path, key, output_space.namespace, output_space.labels, vocab)
    start = f"{name}."
    mine = {parameter.removeprefix(start): value for parameter, value in weights.items() if parameter.startswith(start)}
    if not mine:
        raise ConfigurationError(f"{key}: the model in '{path}' has no {name}.")
    shapes, theirs = shapes_of(net.state_dict()), shapes_of(mine)
    for parameter in sorted(set(shapes) | set(theirs)):
        if shapes.get(parameter) != theirs.get(parameter):
            raise ConfigurationError(
                f"{key}: '{parameter}' is {shapes.get(parameter, 'absent')} here and "
                f"{theirs.get(parameter, 'absent')} in '{path}': give the {name} the same settings."
            )
    net.load_state_dict(mine)


def replaced(instance: Instance, known: dict[str, Any], **fields: Field) -> Instance:
    """An indexed instance with other values `known` in its metadata, and other `fields`, which are indexed, too."""
    # Of the same type as before.
    metadata: Any = copy.copy(instance["metadata"])
    metadata.metadata = {**metadata.metadata, **known}
    made = Instance({**instance.fields, **fields, "metadata": metadata})
    made.indexed = True
    return made


class SealModel(Model, Objectives):
    """
    A task-net, and what trains it: a loss-net with its sampler and loss. There is a subclass for each task, which
    defines how a batch becomes a `TaskState` (`task_state`) and adds metrics and decoding. Trainers call its losses
    (`Objectives`), one player at a time.

    A call, as of any AllenNLP model, runs the task-net alone and gives its cross-entropy as `loss`. If `inference` is
    set, that sampler predicts instead, by minimising the loss-net's energy.

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
        Predicts from the energy, in place of the task-net: `gradient_based_inference`, or `rerank`, which chooses among
        the task-net's outputs.
    cost_augmented_net : `CostAugmentedNet`, optional (default = `None`)
        A second network, from which the loss-net learns; it is not used in prediction. The task loss
        `inference_network` trains it, together with the task-net.
    structure : `Structure`, optional (default = `None`)
        Chooses among whole outputs in prediction (see `seal.structure`). The trainer learns it after the task-net, on
        scores that nets give to instances which they have not seen (its setting `folds`).
    score : `str`, optional
        With a structure: the score for whose decision outputs are predicted, by default F1 (accuracy of tags that
        encode no spans); `"exact_match"` for whole outputs.

    # Raises

    `ConfigurationError` if the loss-net has no sampler or no loss; if the loss needs what the sampler or the model does
    not give, log-probabilities of candidates or rewards; if nothing can predict, or nothing can train the task-net; if
    the task loss has no task-net, or has an energy weight and no loss-net; if a sampler reads a task-net that is not
    there; if nothing trains or uses the cost-augmented network; or if a pretrained file does not fit.
    """

    task_net: Optional[TaskNet]
    #: Of the `structure_kind`, if it has one.
    structure: Any
    _score: Any
    _own_score: Any
    #: The metric's name for the loss of further heads.
    auxiliary_name = "auxiliary_loss"
    #: Whether `sample` returns `RewardedCandidates`.
    gives_rewards = False
    #: The kind of `Structure` that can choose among the task's outputs.
    structure_kind: Optional[type[Structure]] = None
    #: Whether it has `drawn` and `pseudo_labelled`.
    can_pseudo_label = False
    #: The name of what is predicted in the output of a call.
    predicted_name = "tags"
    no_gold = (
        "train_data_path: the data have no gold to learn from; a phase of trainer.phases needs none if its "
        "'supervised' is false, and the callback 'trace_inference_networks' always needs it."
    )
    #: The fields of a batch that hold gold.
    gold_fields: tuple[str, ...] = ("tags",)
    #: The key of gold in the metadata of an instance: a list of names.
    gold_key = "tags"
    #: The scores that, with a structure that has been learned, are also reported of the task-net's own output.
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
            # The nets that train it draw their random starts from a copy of the generator, so that further heads,
            # dropout and batches, too, have the same random numbers with them and without.
            with torch.random.fork_rng(devices=[]):
                self.loss_net = loss_net.construct(output_space=output_space, task_net_dim=dim)
                if cost_augmented_net is not None:
                    self.cost_augmented_net = cost_augmented_net.construct(output_space=output_space, task_net_dim=dim)
            self.register_forward_pre_hook(_check_trainer)
        #: The trained models that its nets start from, by the nets' names.
        self.starts_from: dict[str, str] = {}
        for name, net in self.nets().items():
            if net.pretrained_file is not None:
                load_pretrained(net, name, net.pretrained_file, output_space, vocab)
                self.starts_from[name] = net.pretrained_file
        #: Whether `forward` also returns the energy of what is predicted, outside training.
        self.with_energy = False
        #: Whether `forward` also returns how likely to be right what is predicted is, where the structure says so.
        self.with_probability = False
        #: Gold that the vocabulary lacks: a subclass refuses it in training and counts it in evaluation.
        self.unknown_gold = UnknownGold(output_space.labels, output_space.namespace, self.gold_key)
        #: The training losses that `get_metrics` reports.
        self.monitors = RunningMeans()

    # What a subclass defines.

    def structure_settings(self) -> dict[str, Any]:
        """What a `Structure` for the task's outputs is constructed with, beside its own settings."""
        raise NotImplementedError

    def held_out(self, batch: dict[str, Any]) -> dict[str, Any]:
        """
        What the structure is learned from: the scores that the task-net gives to a batch, and gold, as tensors on the
        CPU and plain values. The model is in evaluation mode.
        """
        raise NotImplementedError

    def fit_structure(self, training: list[dict[str, Any]], validation: list[dict[str, Any]]) -> dict[str, Any]:
        """
        Learns the structure from what `held_out` has returned for batches of the training data, each scored by a net
        that has not seen it, and for those of the validation data. Returns what was learned and chosen, as plain
        values.
        """
        raise NotImplementedError

    def pseudo_labels(self, batch: dict[str, Any], num_samples: Optional[int]) -> torch.Tensor:
        """
        For self-training: `num_samples` independent draws for each input, `(batch, num_samples, *output)`, from the
        distribution over whole outputs that the structure has, if the model follows one, and the task-net otherwise.
        With `None`, the one output that is predicted, `(batch, 1, *output)`. Gold of the batch is not read.
        """
        inputs = self.without_gold(batch)
        if num_samples is None:
            return self(**inputs)[self.predicted_name].unsqueeze(1)
        return self.drawn(inputs, num_samples)

    def without_gold(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The fields of a batch that the task-net may read."""
        return {name: value for name, value in batch.items() if name not in self.gold_fields}

    def drawn(self, inputs: dict[str, Any], num_samples: int) -> torch.Tensor:
        """The draws of `pseudo_labels`, for a batch without gold."""
        raise NotImplementedError

    def takes_pseudo_labels(self, instance: Instance) -> bool:
        """Whether an instance is an input for self-training, or one that is expanded to some (`needs_expansion`)."""
        return True

    def needs_expansion(self, instance: Instance) -> bool:
        """
        Whether an instance without gold is no input yet, but its `expansions` make some: a sentence, whose
        predicates make frames.
        """
        return False

    def expansions(self, batch: dict[str, Any]) -> list[list[int]]:
        """What the model finds in each instance of a batch that needs expansion; `expanded` makes an input of each."""
        raise NotImplementedError

    def expanded(self, instance: Instance, expansion: int) -> Instance:
        """The indexed input that an instance becomes with one of its expansions."""
        raise NotImplementedError

    def pseudo_labelled(self, instance: Instance, output: torch.Tensor) -> Instance:
        """An indexed instance whose gold is `output`, indices; it shares the other fields with `instance`."""
        raise NotImplementedError

    def nets(self) -> dict[str, Any]:
        """The nets that it has, by name."""
        found = {name: getattr(self, name) for name in ("task_net", "loss_net", "cost_augmented_net")}
        return {name: net for name, net in found.items() if net is not None}

    def _task_net_output(
        self, inputs: dict[str, Any], *shape: int, mask: Optional[torch.Tensor] = None
    ) -> TaskNetOutput:
        """The task-net's output; without a task-net, logits that are zeros of the given shape."""
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
        """The score for whose decision outputs are predicted; `None` without a structure."""
        return None if self.structure is None else self.structure.main_score

    @property
    def gives_probability(self) -> bool:
        """Whether the structure says how likely an output is to be right, and that is asked for."""
        return self.with_probability and self.has_learned_structure and self.structure.calibration is not None

    @property
    def gives_energy(self) -> bool:
        return self.with_energy and self.loss_net is not None

    def _scores(self, reset: bool) -> dict[str, float]:
        """
        What `self._score` has measured and, with a structure that has been learned, its violations and `own_scores`.
        """
        scores = self._score.get_metric(reset)
        if self.has_learned_structure:
            own = self._own_score.get_metric(reset)
            scores = {**scores, **self.structure.violations(reset)}
            scores.update((f"{name}_own", own[name]) for name in self.own_scores if name in own)
        return scores

    def prediction_parameters(self) -> list[torch.nn.Parameter]:
        """
        The parameters that predictions depend on: the task-net's, the loss-net's where `inference` predicts, or both.
        """
        by_energy = [] if self.inference is None else self.loss_net_parameters()
        inference, loss_net = self.inference, self.loss_net
        if inference is not None and loss_net is not None and not (inference.needs_task_net or loss_net.shares_encoder):
            return by_energy
        trained_with = set() if self.cost_augmented_net is None else set(self.cost_augmented_net.parameters())
        return [parameter for parameter in self.task_net_parameters() if parameter not in trained_with] + by_energy

    def infer(self, state: TaskState) -> torch.Tensor:
        """What `inference` predicts, constants: relaxed `(batch, *structure)`, or discrete `(batch, *output)`."""
        return self.sample_with(require(self.inference, "inference"), state, None).outputs.squeeze(1)

    def check_inference(self, inference: Sampler) -> None:
        """
        # Raises

        `ConfigurationError` if the sampler cannot predict with the model's nets.
        """
        with error_prefix("model"):
            check_who_predicts(self.task_net, self.loss_net, inference, self.sampler)

    def check_reader(self, reader: Optional[DatasetReader], key: str) -> None:
        """
        # Raises

        `ConfigurationError` if the reader, whose key in the config is `key`, may give instances that are longer than
        the model takes. Otherwise the first of these would end the run, maybe after hours.
        """

    @contextmanager
    def predicting_by(self, inference: Sampler) -> Iterator[None]:
        """
        Inside, and outside training, the model predicts by the given sampler, as if it were `model.inference`. Call
        `check_inference` first, which refuses a sampler that cannot predict.
        """
        before, self.inference = self.inference, inference
        try:
            yield
        finally:
            self.inference = before

    @torch.no_grad()
    def score_loss_net(self, batch: dict[str, Any]) -> None:
        """
        Measures the loss-net on a batch of validation data, for `get_metrics`: `loss_net_loss`; `ranking_accuracy`, the
        percentage of candidates whose energy is above gold's, those that equal gold left out; `energy_gold`; and, if
        the task-net learns from the energy, `energy_alignment`. That is the cosine between the gradients of the energy
        and of cross-entropy with respect to the logits, averaged over batches. A batch without gold, or with gold that
        the vocabulary lacks, is left out. The model is in evaluation mode.
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
        """Adds to the running mean that `get_metrics` reports under `name`."""
        self.monitors.add(name, value)

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        if reset:
            self.unknown_gold.warn()
        return self.monitors.means(reset)


def _check_trainer(model: SealModel, inputs: tuple[Any, ...]) -> None:
    """Refuses AllenNLP's own trainer, which would minimise the `loss` of a call: the cross-entropy alone."""
    if model.training:
        raise ConfigurationError(
            "trainer.type: AllenNLP's own trainer would leave the loss-net out; take 'alternating' or another of "
            "seal's, or leave model.loss_net out. To change a single key by --overrides, name it with dots "
            "('trainer.num_epochs'): an object in that place replaces the whole trainer."
        )
