"""Settings that stand in two parts of a model."""

import copy
import logging

import pytest
from allennlp.common import Params

from seal.losses import EnergyLoss, TaskLoss
from seal.samplers import Sampler
from seal.scores import HammingCost, L1Cost, OneMinusScore, SoftF1, SoftIoU
from seal.tasks.base.equal_settings import differing_settings
from tests.tasks.tagging.test_cost_augmented import compound
from tests.tasks.tagging.test_model import model_of

F1 = {"type": "one_minus", "score": "soft_f1"}
SEARCH = {"type": "gradient_based_inference"}
AGAINST_LOSS = {**SEARCH, "objective": "cost_augmented"}
AGAINST_FIT = {**SEARCH, "objective": "adversarial", "start": "gold"}
NETWORKS = {"type": "inference_network"}
COMPOUND = {"type": "compound", "separate": True}
OUTPUT = {"type": "task_net_output"}


def told(sampler, energy_loss, task_loss=None):
    return differing_settings(
        Sampler.from_params(Params(copy.deepcopy(sampler))),
        EnergyLoss.from_params(Params(copy.deepcopy(energy_loss))),
        TaskLoss.from_params(Params(copy.deepcopy(task_loss or {}))),
    )


@pytest.mark.parametrize(
    "sampler, energy_loss, task_loss, what",
    [
        (AGAINST_LOSS, {"type": "margin", "cost": F1}, None, "cost of the search in model.sampler"),
        ({"type": "stack", "samplers": [OUTPUT, {**AGAINST_LOSS, "cost": F1}]}, {"type": "margin"}, None, "cost of"),
        (AGAINST_FIT, {"type": "regression", "score": "soft_iou"}, None, "score of the search in model.sampler"),
        (OUTPUT, {"type": "margin", "cost": F1}, NETWORKS, "cost in model.task_loss"),
        (OUTPUT, COMPOUND, {**NETWORKS, "perceptron_weight": 0.5}, "perceptron_weight in model.task_loss"),
    ],
)
def test_two_settings_of_one_thing(sampler, energy_loss, task_loss, what):
    (sentence,) = told(sampler, energy_loss, task_loss)
    assert what in sentence


@pytest.mark.parametrize(
    "sampler, energy_loss, task_loss",
    [
        (AGAINST_LOSS, {"type": "margin"}, None),
        ({**AGAINST_LOSS, "cost": F1}, {"type": "margin", "cost": F1}, None),
        (SEARCH, {"type": "margin", "cost": F1}, None),  # It has no cost.
        (AGAINST_LOSS, {"type": "perceptron"}, None),  # The loss has none.
        (AGAINST_FIT, {"type": "regression"}, None),
        (AGAINST_FIT, {"type": "margin"}, None),
        (OUTPUT, {"type": "margin", "cost": F1}, {**NETWORKS, "margin_weight": 0}),
        (OUTPUT, {"type": "margin", "cost": F1}, {**NETWORKS, "energy_weight": 0}),
        (OUTPUT, {"type": "margin"}, {**NETWORKS, "perceptron_weight": 0.5}),
        (OUTPUT, {**COMPOUND, "perceptron_weight": 0.5}, {**NETWORKS, "perceptron_weight": 0.5}),
    ],
)
def test_what_is_one_setting_or_equal(sampler, energy_loss, task_loss):
    assert told(sampler, energy_loss, task_loss) == []


def test_costs_and_scores_are_equal_by_their_settings():
    assert L1Cost() == L1Cost() != HammingCost() and SoftF1() == SoftF1() != SoftIoU()
    assert SoftF1(zero_division=0.0) != SoftF1()
    assert OneMinusScore(SoftF1()) == OneMinusScore(SoftF1()) != OneMinusScore(SoftF1(), scale=2.0)
    # It counts as 1 in a cost.
    assert OneMinusScore(SoftF1()) == OneMinusScore(SoftF1(zero_division=0.0))


def test_a_model_warns(caplog):
    caplog.set_level(logging.WARNING)
    model_of(**compound())
    assert not caplog.records
    model_of(**compound(cost="hamming"))
    (record,) = caplog.records
    assert "model.task_loss" in record.getMessage() and "model.energy_loss" in record.getMessage()
