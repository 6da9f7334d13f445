from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer, TrainerCallback

from seal.models import MultilabelModel
from seal.models.multilabel import TUNING_METRICS


@TrainerCallback.register("tune_thresholds")
class TuneThresholds(TrainerCallback):
    """
    Sets the model's `tuned_metric` while it is trained. The model then tunes its thresholds whenever a pass over the
    validation data ends, to those with the best scores on these data: one for all labels, by `metric`, and one for
    each label, by its F1. They are saved with the weights of that epoch, so that the trained model has those of the
    best epoch. `validation_metric: '+f1_tuned'` chooses the epoch by its score with the tuned threshold.

    Nothing is tuned when a model is evaluated or predicts.

    # Parameters

    metric : `str`, optional (default = `"f1"`)
        What the threshold for all labels maximises: `"f1"` (example F1) or `"micro_f1"`. All of `f1_tuned`,
        `micro_f1_tuned` and `macro_f1_tuned` are scored at that one threshold.

    # Raises

    `ConfigurationError` for any other metric, or a model without such thresholds.
    """

    def __init__(self, serialization_dir: str, metric: str = "f1") -> None:
        super().__init__(serialization_dir)
        if metric not in TUNING_METRICS:
            raise ConfigurationError(
                f"trainer.callbacks: 'tune_thresholds' has the metric '{metric}'; choose from "
                f"{', '.join(TUNING_METRICS)}."
            )
        self._metric = metric

    def on_start(self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        if not isinstance(trainer.model, MultilabelModel):
            raise ConfigurationError(
                "trainer.callbacks: 'tune_thresholds' is for 'seal_multilabel' and 'seal_text_multilabel', not "
                f"{type(trainer.model).__name__}."
            )
        if trainer._validation_data_loader is None:
            raise ConfigurationError(
                "trainer.callbacks: 'tune_thresholds' tunes them on validation data; give validation_data_path, or "
                "leave it out."
            )
        trainer.model.tuned_metric = self._metric

    def on_end(
        self,
        trainer: GradientDescentTrainer,
        metrics: dict[str, Any] = None,
        epoch: int = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        trainer.model.tuned_metric = None
