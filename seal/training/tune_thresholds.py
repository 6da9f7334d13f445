from typing import Any, Dict

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer, TrainerCallback

from seal.models import MultilabelModel


@TrainerCallback.register("tune_thresholds")
class TuneThresholds(TrainerCallback):
    """
    After each epoch, finds the thresholds under which the validation data score best: one for all labels (by
    example F1) and one for each (by its F1). They are kept with the weights of that epoch, so that the best
    epoch's are the trained model's; `validation_metric: '+f1_tuned'` makes them choose the epoch.

    Nothing is tuned when a model is evaluated or predicts.
    """

    def on_start(self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary)
        if not isinstance(trainer.model, MultilabelModel):
            raise ConfigurationError(
                f"trainer.callbacks: 'tune_thresholds' is for 'seal_multilabel', not {type(trainer.model).__name__}."
            )
        trainer.model.tune_thresholds = True

    def on_end(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any] = None,
        epoch: int = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        trainer.model.tune_thresholds = False
