import numpy
import pytest
import torch

from scripts.measure import gate_replay
from scripts.measure.gate_replay import Trial, by_posterior, by_test, module, p_values, priors
from scripts.measure.option_scores import Setup
from seal.structure import gain_priors
from seal.structure.gain_priors import Earlier, Gains
from seal.structure.scores import Ratio


def accuracy(right):
    right = torch.tensor(right, dtype=torch.double)
    return Ratio(right, torch.ones_like(right))


def trial(data, gain, own=(1, 0, 1, 0), other=(1, 1, 1, 0), size=100, score="f1"):
    """With an instance's difference of deviation 0.5, and 2,500 test instances."""
    valid = {
        name: torch.tensor(list(values) * (size // 4)).float().unsqueeze(1).expand(-1, 2).clone()
        for name, values in (("own", own), ("likeliest", other))
    }
    for values in valid.values():
        values[:, 1] = 1
    tested, covariances = {"own": 0.5, "likeliest": 0.5 + gain}, numpy.array([[0.25, 0.125], [0.125, 0.25]])
    setup = Setup("trees", data, "net", 1)
    return Trial(setup, size, score, valid, torch.arange(size), tested, 2500, covariances)


def test_the_test_is_that_of_all_signs():
    """Of four rows that differ, all for the better: by random signs so far once in sixteen; of two options, twice."""
    own = accuracy([1, 0, 1, 0] * 25)
    better, other = accuracy([1, 1, 1, 1, 1, 1, 1, 1] + [1, 0] * 46), accuracy([1, 0] * 46 + [1, 1] * 4)
    (p,) = p_values([better], own, draws=20000)
    assert p == pytest.approx(1 / 16, abs=0.005)
    assert p_values([better, other], own, draws=20000) == pytest.approx([1 - (15 / 16) ** 2] * 2, abs=0.007)
    # The same option twice counts once.
    assert p_values([better, better], own, draws=20000) == pytest.approx([1 / 16] * 2, abs=0.005)
    assert p_values([own], own) == [1.0]


def test_each_data_set_weighs_the_same_and_made_up_ones_nothing():
    found = [trial("a", 0.02), trial("a", 0.04), trial("b", 0.0), trial("c (made up)", 0.5)]
    earlier = priors(found)["trees", "f1"]
    # Between: the means 0.03 and 0; inside: 0.01 of `a`; less half of the error.
    spread = (0.03**2 / 2 + 0.01**2 / 2 - 0.5e-4) ** 0.5
    assert earlier.start == "likeliest"
    assert earlier.gains["own"] == pytest.approx((-0.015, spread, 0.5), abs=1e-4)
    one = priors(found, without="a")["trees", "f1"]
    assert one.start == "own" and one.gains["likeliest"].mean == 0.0


def test_gates_choose_by_what_they_know():
    clear, none = trial("a", 0.0), trial("a", 0.0, other=(1, 0, 1, 0))
    assert [by_test(one, 0.1) for one in (clear, none)] == ["likeliest", "own"]
    # Exact match starts from the likeliest output.
    assert by_test(trial("a", 0.0, other=(1, 0, 1, 0), score="exact_match"), 0.1) == "likeliest"
    chosen = [by_posterior(none, {"likeliest": Gains(mean, 0.02, 0.3)}) for mean in (-0.05, 0.05)]
    assert chosen == ["own", "likeliest"]


def test_the_table_of_gains_is_written_and_read():
    with open(gain_priors.__file__, encoding="utf-8") as file:
        text = file.read()
    found = [trial("a", 0.02), trial("b", 0.0)]
    space: dict = {}
    exec(module(text, found), space)
    assert space["PRIORS"] == {("trees", "f1"): Earlier(*priors(found)["trees", "f1"])}


def test_tables_have_each_gate(monkeypatch):
    monkeypatch.setitem(gate_replay.FAMILIES, "trees", "trees")
    found = [trial(data, 0.01) for data in ("a", "b", "c")]
    told = gate_replay.table(found)
    assert "| trees | F1 | 100 | +1.00 | +1.00 | +1.00 | +1.00 | 3 |" in told
    assert "| F1 | +0.00 ± 0.00 |" in told
    assert "| all | all | +1.00 |" in gate_replay.noise_table(found)
