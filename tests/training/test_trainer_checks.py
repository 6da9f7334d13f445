from types import SimpleNamespace

import pytest
from allennlp.common.checks import ConfigurationError

from seal.training.trainer_checks import check_validation_metric


@pytest.mark.parametrize("metric", ["-loss", "+loss", ["+f1", "-loss"]])
def test_predictions_of_the_energy_have_no_loss(metric):
    check_validation_metric(SimpleNamespace(inference=None), metric)
    with pytest.raises(ConfigurationError, match="trainer.validation_metric: predictions of model.inference"):
        check_validation_metric(SimpleNamespace(inference=object()), metric)


def test_other_metrics():
    check_validation_metric(SimpleNamespace(inference=object()), "+f1")
    check_validation_metric(SimpleNamespace(inference=object()), ["+f1", "-hamming_loss"])


def test_a_metric_without_a_direction():
    with pytest.raises(ConfigurationError, match=r"^trainer.validation_metric: '\+f1' where more is better, or '-f1'"):
        check_validation_metric(SimpleNamespace(inference=None), ["-loss", "f1"])
