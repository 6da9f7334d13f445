import inspect
import math
import re
from dataclasses import dataclass
from typing import Optional

import pytest
from allennlp.common import Params, from_params
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from seal.common.setting_checks import (
    abbreviate,
    check_choice,
    check_range,
    error_prefix,
    pop_arguments,
    whole_number,
    with_parameters_of,
)
from tests.one_sentence import message_of


@pytest.mark.parametrize(
    "value, limits, sentence",
    [
        (0, {"least": 1}, "x.size must be at least 1, found 0."),
        (0.0, {"above": 0}, "x.size must be above 0, found 0.0."),
        (1.5, {"least": 0, "most": 1}, "x.size must be at least 0 and at most 1, found 1.5."),
        (1, {"above": 0, "below": 1}, "x.size must be above 0 and below 1, found 1."),
        (math.nan, {"least": 0}, "x.size must be finite and at least 0, found nan."),
        (math.inf, {"least": 0, "most": 1}, "x.size must be finite, at least 0 and at most 1, found inf."),
    ],
)
def test_a_number_out_of_range_is_refused(value, limits, sentence):
    assert message_of(check_range, "x.size", value, **limits) == sentence


@pytest.mark.parametrize(
    "value, limits",
    [(1, {"least": 1}), (1, {"most": 1}), (1e-9, {"above": 0}), (0.999, {"below": 1}), (None, {"least": 1})],
)
def test_a_number_in_range_and_an_absent_one_are_accepted(value, limits):
    check_range("x.size", value, **limits)


def test_what_is_no_choice_is_refused():
    check_choice("x.encoding", None, ("BIO", "BIOES", None))
    check_choice("x.encoding", "BIO", ("BIO", "BIOES", None))
    told = message_of(check_choice, "x.encoding", "IO", ("BIO", "BIOES", None))
    assert told == "x.encoding must be 'BIO', 'BIOES' or null, found 'IO'."
    assert message_of(check_choice, "x.a", 2, ("sum", "mean")) == "x.a must be 'sum' or 'mean', found 2."


@pytest.mark.parametrize(
    "value, text",
    [
        ("é\udc80", "'\\xe9\\udc80'"),
        ("a" * 58, "'" + "a" * 58 + "'"),
        ("a" * 59, "'" + "a" * 56 + "..."),
        (10**6000, "a value of type int"),
    ],
    ids=["ascii", "60", "61", "large"],
)
def test_60_characters_of_ascii(value, text):
    assert abbreviate(value) == text and len(abbreviate(value)) <= 60


def test_what_is_nested_too_deeply():
    value = []
    for _ in range(100_000):
        value = [value]
    assert abbreviate(value) == "a value of type list"
    while value:  # Otherwise its deallocation recurses as deeply.
        value = value.pop()


@pytest.mark.parametrize(
    "text, number", [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None), ("", None)]
)
def test_a_text_that_is_a_whole_number(text, number):
    assert whole_number(text) == number


@given(st.text(max_size=3) | st.text(st.characters(categories=["Nd", "No", "Nl"]), max_size=3))
def test_any_other_text_is_no_whole_number(text):
    assert (whole_number(text) is not None) == bool(re.fullmatch("[0-9]+", text))


def test_an_error_of_a_part_names_where_the_part_is():
    with pytest.raises(ConfigurationError) as error, error_prefix("model"):
        check_range("task_loss.energy_weight", -1, least=0)
    assert "model.task_loss.energy_weight" in error.value.message and "-1" in error.value.message


def parent(size: int, rate: float = 0.5, name: str = "a", **settings):
    return size, rate, name, settings


class Child:
    def __init__(self, given):
        self.given = given

    @classmethod
    @with_parameters_of(parent, without=("name",))
    def construct(cls, rate: float = 0.1, more: int = 1, **settings) -> "Child":
        return cls((more, parent(rate=rate, **settings)))


def test_a_constructor_has_the_parameters_of_its_parent_as_well():
    parameters = inspect.signature(Child.construct).parameters
    assert list(parameters) == ["rate", "more", "size"]
    assert parameters["rate"].default == 0.1  # its own
    assert parameters["size"].annotation is int and parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY


def test_a_config_sets_them():
    settings = from_params.create_kwargs(Child.construct, Child, Params({"size": 3, "more": 2}))
    assert Child.construct(**settings).given == (2, (3, 0.1, "a", {}))


def test_a_config_sets_no_others():
    with pytest.raises(ConfigurationError, match="name"):
        from_params.create_kwargs(Child.construct, Child, Params({"size": 3, "name": "b"}))


@dataclass
class Folds:
    number: int = 3
    name: Optional[str] = None


def test_settings_come_in_groups():
    """Of a name that several have, the first one's parameter counts."""

    @with_parameters_of(Folds, parent)
    def construct(**settings):
        return pop_arguments(Folds, settings), settings

    parameters = inspect.signature(construct).parameters
    assert list(parameters) == ["number", "name", "size", "rate"] and parameters["name"].default is None
    assert construct(number=2, size=1) == (Folds(2), {"size": 1})
