from typing import Any, Dict

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer, TrainerCallback

from seal.models import MultilabelModel
from seal.models.multilabel import TUNED_FOR


@TrainerCallback.register("tune_thresholds")
class TuneThresholds(TrainerCallback):
    """
    After each epoch, finds the thresholds under which the validation data score best: one for all labels (by
    `metric`) and one for each (by its F1). They are kept with the weights of that epoch, so that the best
    epoch's are the trained model's; `validation_metric: '+f1_tuned'` makes them choose the epoch.

    Nothing is tuned when a model is evaluated or predicts.

    # Parameters

    metric : `str`, optional (default = `"f1"`)
        `"f1"`, that of examples, or `"micro_f1"`. Every score with the tuned threshold, `f1_tuned`, `micro_f1_tuned`,
        `macro_f1_tuned`, is at the one threshold that makes this one best.

    # Raises

    `ConfigurationError` for another metric, or a model without such thresholds.
    """

    def __init__(self, serialization_dir: str, metric: str = "f1") -> None:
        super().__init__(serialization_dir)
        if metric not in TUNED_FOR:
            raise ConfigurationError(
                f"trainer.callbacks: 'tune_thresholds' has the metric '{metric}'; choose from {', '.join(TUNED_FOR)}."
            )
        self._metric = metric

    def on_start(self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        if not isinstance(trainer.model, MultilabelModel):
            raise ConfigurationError(
                "trainer.callbacks: 'tune_thresholds' is for 'seal_multilabel' and 'seal_text_multilabel', not "
                f"{type(trainer.model).__name__}."
            )
        trainer.model.tune_thresholds = self._metric

    def on_end(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any] = None,
        epoch: int = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        trainer.model.tune_thresholds = None
