from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model

from seal.losses import EnergyLoss, TaskLoss
from seal.metrics import MultilabelScore, best_label_thresholds, best_micro_threshold, best_threshold
from seal.models.seal_model import SealModel, TaskState
from seal.nets import CostAugmentedNet, LossNet, TaskNet
from seal.output_spaces import LabelSet, OutputSpace
from seal.samplers import Sampler

#: How probabilities become labels: by 0.5, by one tuned threshold, or by one a label.
DECISIONS = ("half", "tuned", "per_label")
#: What the one tuned threshold makes best.
TUNED_FOR = ("f1", "micro_f1")


@Model.register("seal_multilabel")
class MultilabelModel(SealModel):
    """
    Multi-label classification of feature vectors (`seal_multilabel` reader).

    Thresholds other than 0.5 are tuned on validation data by the trainer callback `tune_thresholds` and are part
    of the model's weights; once they are, every figure is reported with them as well.

    # Parameters

    As for `SealModel`, and

    decision : `str`, optional (default = `"half"`)
        What a predicted label is: of at least the probability 0.5 as in the papers (`"half"`), the tuned threshold
        (`"tuned"`) or the tuned threshold of its own (`"per_label"`).
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row that neither has nor is given a label.
    """

    default_predictor = "seal_multilabel"

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
        decision: str = "half",
        empty_f1: float = 1.0,
    ) -> None:
        if not isinstance(output_space, LabelSet):
            raise ConfigurationError("model.output_space.type: 'seal_multilabel' predicts a 'label_set'.")
        if decision not in DECISIONS:
            raise ConfigurationError(f"model.decision: one of {', '.join(DECISIONS)}, not '{decision}'.")
        super().__init__(
            vocab, output_space, task_net, loss_net, sampler, energy_loss, task_loss, inference, cost_augmented_net
        )
        #: Which threshold predicts; may be set anew.
        self.decision = decision
        self._score = MultilabelScore(empty_f1)
        self._empty_f1 = empty_f1
        #: Set to the score (`TUNED_FOR`) by which to tune the threshold on what is scored next, those of labels with
        #: it. Only ever right for validation data.
        self.tune_thresholds: Optional[str] = None
        self.register_buffer("is_tuned", torch.tensor(False))
        self.register_buffer("tuned_threshold", torch.tensor(0.5))
        # shape: (labels,)
        self.register_buffer("label_thresholds", torch.full((output_space.num_labels,), 0.5))

    def task_state(
        self,
        features: torch.Tensor,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> TaskState:
        return self._task_state({"features": features}, len(features), labels)

    def _task_state(self, inputs: Dict[str, Any], rows: int, labels: Optional[torch.Tensor]) -> TaskState:
        if self.training and self.decision != "half" and not self.tune_thresholds:
            raise ConfigurationError(
                f"model.decision: '{self.decision}' needs the trainer callback that tunes thresholds; add "
                "'tune_thresholds' to trainer.callbacks, or leave the decision out."
            )
        if self.task_net is None:
            logits, hidden = self.label_thresholds.new_zeros(rows, self.output_space.num_labels), None
        else:
            logits, hidden = self.task_net(inputs)
        return TaskState(inputs, logits, hidden, gold=labels)

    def forward(
        self,
        features: torch.Tensor,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        features : `torch.FloatTensor`, `(rows, features)`
        labels : `torch.FloatTensor`, `(rows, labels)`, optional
            0 or 1.
        metadata : `List[Dict[str, Any]]`, optional

        # Returns

        probabilities : `torch.FloatTensor`, `(rows, labels)`
            Of the task-net; or the relaxed labels that `inference` found.
        predicted : `torch.BoolTensor`, `(rows, labels)`
        energy : `torch.FloatTensor`, `(rows,)`
            Of the predicted labels, where `with_energy` is set and there is a loss-net.
        loss : `torch.Tensor`, a scalar
            Cross-entropy of the task-net, summed over labels, averaged over rows, where gold is given and the
            task-net predicts.
        """
        return self._output(self.task_state(features, labels), labels)

    def _output(self, state: TaskState, labels: Optional[torch.Tensor]) -> Dict[str, torch.Tensor]:
        """What `forward` returns."""
        output: Dict[str, torch.Tensor] = {}
        if self.inference is None:
            output["probabilities"] = state.logits.sigmoid()
            if labels is not None:
                output["loss"] = self.output_space.cross_entropy(state.logits, labels).mean()
        else:
            output["probabilities"] = self.infer(state)
        if not self.training:
            output["predicted"] = output["probabilities"] >= self.threshold
            if self.with_energy and self.loss_net is not None:
                outputs = output["predicted"].to(state.logits).unsqueeze(1)
                output["energy"] = self.loss_net(self.frozen_features(state), outputs).squeeze(1)
            if labels is not None:
                self._score(output["probabilities"], labels)
        return output

    @property
    def threshold(self) -> torch.Tensor:
        """Of the probability, by which labels are predicted: a scalar or `(labels,)`."""
        if self.decision == "half":
            return self.tuned_threshold.new_tensor(0.5)
        if not self.tune_thresholds:
            self.check_tuned(self.decision, "model.decision")
        return self.tuned_threshold if self.decision == "tuned" else self.label_thresholds

    def check_tuned(self, decision: str, key: str) -> None:
        """
        # Raises

        `ConfigurationError` if the decision, the value of `key`, needs thresholds and they were never tuned.
        """
        if decision != "half" and not self.is_tuned:
            raise ConfigurationError(
                f"{key}: '{decision}' needs thresholds that the trainer callback 'tune_thresholds' has tuned, and this "
                "model was trained without it; take 'half'."
            )

    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        names = self.output_space.labels
        output_dict["labels"] = [
            [names[i] for i in row.nonzero().squeeze(1).tolist()] for row in output_dict["predicted"]
        ]
        return output_dict

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """
        At 0.5 `f1` (example F1), `micro_f1`, `macro_f1`, and `mean_average_precision`; the same F1 scores with the
        tuned thresholds, as `f1_tuned` and `f1_per_label` and so on; all in percent. And the means of the training
        losses.
        """
        metrics = super().get_metrics(reset)
        if not self.training:
            metrics.update(self._score.get_metric(reset, self._thresholds))
        return metrics

    def _thresholds(self, probabilities: torch.Tensor, gold: torch.Tensor) -> Dict[str, torch.Tensor]:
        if self.tune_thresholds:
            if self.tune_thresholds == "micro_f1":
                self.tuned_threshold.fill_(best_micro_threshold(probabilities, gold))
            else:
                self.tuned_threshold.fill_(best_threshold(probabilities, gold, self._empty_f1))
            # A label that the data lack is decided as the others are.
            default = float(self.tuned_threshold)
            self.label_thresholds.copy_(best_label_thresholds(probabilities, gold, default))
            self.is_tuned.fill_(True)
        if not self.is_tuned:
            return {}
        return {"tuned": self.tuned_threshold, "per_label": self.label_thresholds}
