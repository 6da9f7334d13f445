from types import SimpleNamespace

import pytest
from allennlp.common.checks import ConfigurationError

from seal.training.phases import check_validation_metric


@pytest.mark.parametrize("metric", ["-loss", ["+f1", "-loss"]])
def test_predictions_of_the_energy_have_no_loss(metric):
    check_validation_metric(SimpleNamespace(inference=None), metric)
    with pytest.raises(ConfigurationError, match="trainer.validation_metric: predictions of model.inference"):
        check_validation_metric(SimpleNamespace(inference=object()), metric)


def test_other_metrics():
    check_validation_metric(SimpleNamespace(inference=object()), "+f1")
    check_validation_metric(SimpleNamespace(inference=object()), ["+f1", "-hamming_loss"])


@pytest.mark.parametrize(
    "metric, told",
    [
        ("+loss", "less of 'loss' is better; write '-loss'."),
        ("+ucr", "less of 'ucr' is better; write '-ucr'."),
        ("+duplicates", "less of 'duplicates' is better"),
        ("-f1", "more of 'f1' is better; write '+f1'."),
        (["+f1", "-micro_f1_tuned"], "more of 'micro_f1_tuned' is better; write '+micro_f1_tuned'."),
        ("-f1-PER", "more of 'f1-PER' is better"),
        ("-mean_iou", "more of 'mean_iou' is better"),
    ],
)
def test_a_direction_that_would_keep_the_worst_epoch(metric, told):
    with pytest.raises(ConfigurationError) as error:
        check_validation_metric(SimpleNamespace(inference=None), metric)
    assert error.value.message.startswith(f"trainer.validation_metric: {told}")


def test_a_metric_without_a_direction():
    with pytest.raises(ConfigurationError, match=r"^trainer.validation_metric: '\+f1' where more is better, or '-f1'"):
        check_validation_metric(SimpleNamespace(inference=None), ["-loss", "f1"])
