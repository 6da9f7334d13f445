from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal_inspect import examples
from seal_inspect.examples import _sample, examine


def test_a_model_of_others_is_refused():
    archive = SimpleNamespace(model=torch.nn.Linear(1, 1), validation_dataset_reader=None)
    with pytest.raises(ConfigurationError, match="not Linear"):
        examine(archive, "data", 1)


class Reader:
    """Of data that are sorted by something."""

    def __init__(self, number):
        self.number = number

    def read(self, path):
        yield from range(self.number)


def test_a_sample_is_from_everywhere_and_always_the_same():
    assert list(_sample(lambda: range(7), 7)) == list(_sample(lambda: range(7), 9)) == list(range(7))
    assert list(_sample(lambda: [], 3)) == []
    found = list(_sample(lambda: range(20_000), 1000))
    assert len(found) == 1000 and found == sorted(set(found)) == list(_sample(lambda: range(20_000), 1000))
    parts = numpy.bincount(numpy.array(found) // 2000, minlength=10)
    assert parts.min() > 60 and parts.max() < 140
    # Not every other one either, of what alternates.
    assert 400 < sum(place % 2 for place in found) < 600


def test_examples_are_looked_at_from_everywhere(monkeypatch):
    seen = []

    class Examiner:
        def __init__(self, model):
            self.found = model

        def add(self, instances, batch):
            seen.extend(instances)

        def finish(self):
            pass

    monkeypatch.setattr(examples, "_EXAMINERS", ((torch.nn.Linear, Examiner),))
    monkeypatch.setattr(examples, "tensors_of", lambda *_: None)
    examine(SimpleNamespace(model=torch.nn.Linear(1, 1), validation_dataset_reader=Reader(5000)), "data", 100)
    assert len(seen) == 100 and min(seen) < 500 and max(seen) > 4500
