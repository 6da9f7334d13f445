"""What the library of label sets makes of its settings."""

import pytest

from scripts.measure.configs import library_value


def model_of(method, settings):
    return library_value("multilabel.libsonnet", f"lib.experiment('sample', '{method}', settings={settings}).model")


@pytest.mark.parametrize("method", ["dvn", "static_regression"])
def test_a_regression_may_follow_the_path_of_its_search(method):
    """The same search with all its points, and gold; the loss is their mean, so that its scale stays."""
    plain, path = (
        model_of(method, f"{{ inference_optimizer: 'sgd', search_path: {given} }}") for given in ("false", "true")
    )
    search, adversarial = plain["sampler"]["samplers"]
    assert search["optimizer"] == adversarial["optimizer"] == "sgd" and "keep" not in search
    assert path["sampler"]["samplers"] == [{**search, "keep": "trajectory"}, adversarial, "gold"]
    assert plain["energy_loss"] == {"type": "regression"}
    assert path["energy_loss"] == {"type": "regression", "reduction": "mean"}


def test_other_losses_have_no_path():
    assert model_of("spen", "{ search_path: true }") == model_of("spen", "{}")


@pytest.mark.parametrize("method", ["spen", "dvn", "nce_energy"])
def test_the_search_that_predicts_may_have_more_steps(method):
    plain, more = (model_of(method, f"{{ inference_steps: 30, {given} }}") for given in ("", "prediction_steps: 40"))
    assert plain["inference"]["num_steps"] == 30
    assert more == {**plain, "inference": {**plain["inference"], "num_steps": 40}}


@pytest.mark.parametrize("method", ["cross_entropy", "dvn", "static_regression", "nce", "implicit_cd"])
def test_weights_may_be_averaged(method):
    plain, averaged = (
        library_value("multilabel.libsonnet", f"lib.experiment('sample', '{method}', settings={given}).trainer")
        for given in ("{}", "{ average_weights: 0.999 }")
    )
    assert "moving_average" not in plain
    assert averaged == {**plain, "moving_average": {"type": "exponential", "decay": 0.999}}
