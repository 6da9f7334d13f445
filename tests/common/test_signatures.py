import inspect
from dataclasses import dataclass
from typing import Optional

import pytest
from allennlp.common import Params, from_params
from allennlp.common.checks import ConfigurationError

from seal.common.signatures import taken, with_parameters_of


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
        return taken(Folds, settings), settings

    parameters = inspect.signature(construct).parameters
    assert list(parameters) == ["number", "name", "size", "rate"] and parameters["name"].default is None
    assert construct(number=2, size=1) == (Folds(2), {"size": 1})
