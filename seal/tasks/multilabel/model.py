from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model

from seal.common.equal_contents import numbered
from seal.common.setting_checks import check_choice, with_parameters_of
from seal.output_spaces import LabelSet, OutputSpace
from seal.samplers import Sampler
from seal.structure.label_set_structure import LabelSetStructure
from seal.structure.scores import LABEL_SET_SCORES
from seal.structure.thresholds import best_label_thresholds, best_micro_threshold, best_threshold
from seal.tasks.base.scored_rows import check_scored
from seal.tasks.base.seal_model import SealModel
from seal.tasks.multilabel.label_set_score import LabelSetScore, MultilabelScore
from seal.two_player.objectives import TaskState

#: The thresholds for the probabilities: 0.5, one tuned for all labels, or one tuned for each label.
DECISIONS = ("half", "tuned", "per_label")
#: The metrics for which the threshold for all labels can be tuned.
TUNING_METRICS = ("f1", "micro_f1")


@Model.register("seal_multilabel")
class MultilabelModel(SealModel):
    """
    Multi-label classification of feature vectors (`seal_multilabel` reader).

    The trainer callback `tune_thresholds` tunes thresholds on validation data and stores them in the model's weights.
    From then on every F1 score is also reported with them. A score without a suffix, such as `f1`, measures the
    predicted labels.

    # Parameters

    As for `SealModel`, and

    decision : `str`, optional (default = `None`)
        The least probability of a predicted label: 0.5 as in the papers (`"half"`), the tuned threshold (`"tuned"`) or
        the label's own tuned threshold (`"per_label"`). A threshold overrules the structure. `None`: a fitted structure
        decides; without one the threshold is 0.5.
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row without gold and predicted labels.
    score : `str`, optional (default = `"f1"`)
        The score that the structure's decision maximises: `"f1"`, `"micro_f1"` or `"subset_accuracy"`. Each of the
        three is also reported for the decision that maximises it (`f1_decided` and so on).
    """

    default_predictor = "seal_multilabel"
    gold_fields = ("labels",)
    structure_kind = LabelSetStructure
    can_pseudo_label = True
    predicted_name = "predicted"
    gold_key = "labels"

    output_space: LabelSet
    is_tuned: torch.Tensor
    tuned_threshold: torch.Tensor
    label_thresholds: torch.Tensor

    @with_parameters_of(SealModel.__init__)
    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        *,
        decision: Optional[str] = None,
        empty_f1: float = 1.0,
        score: str = "f1",
        **settings: Any,
    ) -> None:
        if not isinstance(output_space, LabelSet):
            raise ConfigurationError("model.output_space.type: 'seal_multilabel' predicts a 'label_set'.")
        if decision is not None:
            check_choice("model.decision", decision, DECISIONS)
        self.empty_f1 = empty_f1
        super().__init__(vocab, output_space, **settings)
        check_choice("model.score", score, tuple(LABEL_SET_SCORES))
        #: The parameter; it may be changed later.
        self.score = score
        self._decided = {name: LabelSetScore(name, empty_f1) for name in LABEL_SET_SCORES}
        self._own = {name: LabelSetScore(name, empty_f1) for name in LABEL_SET_SCORES}
        #: The parameter; it may be changed later.
        self.decision = decision
        self._score = MultilabelScore(empty_f1)
        #: The metric for which `get_metrics` tunes the threshold for all labels; it also tunes one for each label.
        #: `None`: no tuning. Set it only while validation data are scored.
        self.tuned_metric: Optional[str] = None
        self.register_buffer("is_tuned", torch.tensor(False))
        self.register_buffer("tuned_threshold", torch.tensor(0.5))
        # shape: (labels,)
        self.register_buffer("label_thresholds", torch.full((output_space.num_labels,), 0.5))

    def task_state(
        self,
        features: torch.Tensor,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> TaskState:
        return self._task_state({"features": features}, len(features), labels, metadata)

    def _task_state(
        self,
        inputs: dict[str, Any],
        rows: int,
        labels: Optional[torch.Tensor],
        metadata: Optional[list[dict[str, Any]]],
    ) -> TaskState:
        if self.training:
            self.unknown_gold.refuse(metadata)
        if self.training and self.decision not in (None, "half") and not self.tuned_metric:
            raise ConfigurationError(
                f"model.decision: '{self.decision}' needs the trainer callback that tunes thresholds; add "
                "'tune_thresholds' to trainer.callbacks, or leave the decision out."
            )
        logits, hidden, earlier = self._task_net_output(inputs, rows, self.output_space.num_labels)
        return TaskState(inputs, logits, hidden, gold=labels, earlier=earlier)

    def forward(
        self,
        features: torch.Tensor,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        features : `torch.FloatTensor`, `(rows, features)`
        labels : `torch.FloatTensor`, `(rows, labels)`, optional
            0 or 1.
        metadata : `list[dict[str, Any]]`, optional

        # Returns

        probabilities : `torch.FloatTensor`, `(rows, labels)`
            The task-net's probabilities, or the relaxed labels from `inference`.
        predicted : `torch.BoolTensor`, `(rows, labels)`
        marginals : `torch.FloatTensor`, `(rows, labels)`
            The structure's calibrated probability of each label, if `with_probability` is set and the structure is
            calibrated.
        probability : `torch.FloatTensor`, `(rows,)`
            Likewise the probability that the predicted labels are all correct.
        energy : `torch.FloatTensor`, `(rows,)`
            The energy of the predicted labels, if `with_energy` is set and there is a loss-net.
        loss : `torch.Tensor`, a scalar
            The task-net's cross-entropy, summed over labels, averaged over rows, if gold is given and `inference` is
            `None`.
        """
        return self._output(self.task_state(features, labels, metadata), labels, metadata)

    def _output(
        self, state: TaskState, labels: Optional[torch.Tensor], metadata: Optional[list[dict[str, Any]]]
    ) -> dict[str, torch.Tensor]:
        """The result of `forward`."""
        output: dict[str, torch.Tensor] = {}
        if self.inference is None:
            output["probabilities"] = state.logits.sigmoid()
            if labels is not None:
                output["loss"] = self.output_space.cross_entropy(state.logits, labels).mean()
        else:
            output["probabilities"] = self.infer(state)
        if not self.training:
            decided = {}
            if self.has_learned_structure:
                scores = [self.score] if labels is None else list(self._decided)
                decided = self.structure.decide_all(state.logits, scores)
            if self.gives_probability:
                _, output["marginals"], output["probability"] = self.structure.decide_with_probability(
                    state.logits, self.score
                )
            output["predicted"] = decided[self.score] if decided else output["probabilities"] >= self.threshold
            if self.gives_energy:
                outputs = output["predicted"].to(state.logits).unsqueeze(1)
                output["energy"] = self.energy(state, outputs).squeeze(1)
            if labels is not None:
                # An infinite logit has a probability, but shows that the net has diverged.
                check_scored(state.logits if self.inference is None else output["probabilities"], metadata)
                missed = self.unknown_gold.note(metadata)
                self._score(output["probabilities"], labels, missed, output["predicted"])
                for name, predicted in decided.items():
                    self._decided[name](predicted, labels, missed)
                    self._own[name](self.structure.task_net_labels(state.logits, name), labels, missed)
                if decided:
                    self.structure.count_broken(
                        output["predicted"], self.structure.task_net_labels(state.logits, self.score)
                    )
        return output

    @property
    def has_learned_structure(self) -> bool:
        """Whether the structure is fitted and `decision` does not overrule it."""
        return self.decision is None and super().has_learned_structure

    @property
    def score_of_prediction(self) -> Optional[str]:
        return None if self.structure is None else self.score

    @property
    def threshold(self) -> torch.Tensor:
        """The least probability of a predicted label: a scalar or `(labels,)`."""
        if self.decision in (None, "half"):
            return self.tuned_threshold.new_tensor(0.5)
        if not self.tuned_metric:
            self.check_tuned(self.decision, "model.decision")
        return self.tuned_threshold if self.decision == "tuned" else self.label_thresholds

    def check_tuned(self, decision: str, key: str) -> None:
        """
        Checks that the thresholds for `decision`, the value of the config key `key`, are tuned.

        # Raises

        `ConfigurationError` if they are not.
        """
        if decision != "half" and not self.is_tuned:
            raise ConfigurationError(
                f"{key}: '{decision}' needs thresholds that the trainer callback 'tune_thresholds' has tuned, and this "
                "model was trained without it; take 'half'."
            )

    @contextmanager
    def predicting_by(self, inference: Sampler) -> Iterator[None]:
        """As in `SealModel`; thresholds are not tuned on the outputs of `inference`."""
        tuned_metric, self.tuned_metric = self.tuned_metric, None
        try:
            with super().predicting_by(inference):
                yield
        finally:
            self.tuned_metric = tuned_metric

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        names = self.output_space.labels
        output_dict["labels"] = [
            [names[i] for i in row.nonzero().squeeze(1).tolist()] for row in output_dict["predicted"]
        ]
        return output_dict

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """
        The metrics, in percent:

        - `f1` (example F1), `micro_f1`, `macro_f1`, `macro_f1_all` and `subset_accuracy` of the predicted labels.
        - The same five with the tuned thresholds, as `f1_tuned`, `f1_per_label` and so on, and with the threshold 0.5,
          if it does not predict, as `f1_half` and so on.
        - `mean_average_precision` of the task-net's probabilities.
        - With a fitted structure, for `f1`, `micro_f1` and `subset_accuracy`: `f1_own` and so on, by the threshold on
          the task-net's probabilities that maximises the score on validation data, and `f1_decided` and so on, by the
          structure's decision for that score.
        - The means of the training losses.

        While `tuned_metric` is set, a call with `reset` outside training first tunes the thresholds on the scored rows.
        This changes the buffers `tuned_threshold`, `label_thresholds` and `is_tuned`.
        """
        metrics = super().get_metrics(reset)
        if not self.training:
            scores = self._score.get_metric(reset, self._thresholds)
            if reset and self.decision in ("tuned", "per_label"):
                # The thresholds may have changed since the labels were predicted.
                scores.update(
                    (name, scores[f"{name}_{self.decision}"]) for name in [*scores] if f"{name}_half" in scores
                )
            metrics.update(scores)
            if self.has_learned_structure:
                metrics.update(self.structure.violations(reset))
                for suffix, metrics_of in (("own", self._own), ("decided", self._decided)):
                    metrics.update((f"{name}_{suffix}", score.get_metric(reset)) for name, score in metrics_of.items())
        return metrics

    def structure_settings(self) -> dict[str, Any]:
        space = self.output_space
        return {"num_labels": space.num_labels, "names": space.labels, "empty_f1": self.empty_f1}

    def held_out(self, batch: dict[str, Any]) -> dict[str, Any]:
        state = self.task_state(**batch)
        return {"logits": state.logits.float().cpu(), "gold": self.gold(state).to("cpu", torch.bool)}

    def fit_structure(self, training: list[dict[str, Any]], validation: list[dict[str, Any]]) -> dict[str, Any]:
        tensors = [
            torch.cat([record[name] for record in records])
            for records in (training, validation)
            for name in ("logits", "gold")
        ]
        # Equal inputs have equal scores, but for rounding.
        groups, valid_groups = (
            numbered(row.tobytes() for row in (1000 * logits).round().long().numpy()) for logits in tensors[::2]
        )
        return self.structure.fit(*tensors, groups=groups, valid_groups=valid_groups)

    def drawn(self, inputs: dict[str, Any], num_samples: int) -> torch.Tensor:
        logits = self.task_state(**inputs).logits
        # A `decision` overrules the structure.
        if self.has_learned_structure and self.structure.is_followed(self.score):
            return self.structure.draw(logits, num_samples)
        return self.output_space.sample(logits, num_samples)

    def _thresholds(
        self, probabilities: torch.Tensor, gold: torch.Tensor, missed: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """
        The thresholds to score in addition to the predicted labels. While `tuned_metric` is set, they are first tuned
        on the given rows.
        """
        if self.tuned_metric:
            if self.tuned_metric == "micro_f1":
                self.tuned_threshold.fill_(best_micro_threshold(probabilities, gold, missed=missed))
            else:
                self.tuned_threshold.fill_(best_threshold(probabilities, gold, self.empty_f1, missed))
            # A label that the data lack gets the threshold for all labels.
            default = float(self.tuned_threshold)
            self.label_thresholds.copy_(best_label_thresholds(probabilities, gold, default))
            self.is_tuned.fill_(True)
        thresholds = {"tuned": self.tuned_threshold, "per_label": self.label_thresholds} if self.is_tuned else {}
        if self.has_learned_structure or self.decision in ("tuned", "per_label"):
            thresholds["half"] = self.tuned_threshold.new_tensor(0.5)
        return thresholds
