"""Checks the metric by which the best epoch is chosen."""

import re
from typing import Union

from allennlp.common.checks import ConfigurationError

from seal.models import SealModel

# Names of scores among seal's metrics, alone or with what they are of: `f1-PER`, `mean_iou`, `micro_f1_tuned`.
_MORE_IS_BETTER = re.compile(r"(^|_)(f1|accuracy|precision|recall|iou)($|[_-])")

# Those of which less is better: losses, and rates of frames or roles that break a constraint.
_LESS_IS_BETTER = re.compile(r"loss$|(^|_)(ucr|duplicates)$")


def check_validation_metric(
    model: SealModel, metric: Union[str, list[str]], key: str = "trainer.validation_metric"
) -> None:
    metrics = [metric] if isinstance(metric, str) else metric
    for name in metrics:
        if name[:1] not in ("+", "-"):
            raise ConfigurationError(f"{key}: '+{name}' where more is better, or '-{name}', not '{name}'.")
        sign, score = name[0], name[1:]
        # The other sign would keep the worst epoch as the best.
        if sign == "+" and _LESS_IS_BETTER.search(score):
            raise ConfigurationError(f"{key}: less of '{score}' is better; write '-{score}'.")
        if sign == "-" and _MORE_IS_BETTER.search(score):
            raise ConfigurationError(f"{key}: more of '{score}' is better; write '+{score}'.")
    # AllenNLP reports a loss of 0 where a model gives none, so that the first epoch would be the best.
    names = {name.lstrip("+-") for name in metrics}
    if model.inference is not None and "loss" in names:
        raise ConfigurationError(
            f"{key}: predictions of model.inference have no loss; name one of the model's metrics, as '+f1'."
        )
