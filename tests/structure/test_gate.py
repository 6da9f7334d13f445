import pytest
import torch

from seal.structure.gate import gate
from seal.structure.scores import Ratio


def accuracy(right):
    right = torch.tensor(right, dtype=torch.double)
    return Ratio(right, torch.ones_like(right))


OWN = accuracy([1, 0, 1, 0] * 25)


def test_the_best_option_is_chosen_where_its_gain_is_clear():
    verdict = gate({"own": OWN, "better": accuracy([1, 1, 1, 0] * 25), "best": accuracy([1, 1, 1, 1] * 25)})
    assert (verdict.chosen, verdict.gain) == ("best", pytest.approx(0.5))
    # Half of the rows change from 0 to 1: the deviation of the difference is a half, of 100 rows a twentieth.
    assert verdict.standard_error == pytest.approx(0.05, rel=0.01)
    assert verdict.values == pytest.approx({"own": 0.5, "better": 0.75, "best": 1.0})


def test_a_gain_within_the_margin_is_not_followed():
    # Two rows more and one less: a gain of a hundredth, with a standard error of 0.017.
    close = accuracy([1, 1, 1, 1, 0, 0, 1, 0] + [1, 0] * 46)
    verdict = gate({"own": OWN, "close": close}, margin=0.7)
    assert (verdict.chosen, verdict.gain) == ("own", 0.0)
    assert gate({"own": OWN, "close": close}, margin=0.5).chosen == "close"


def test_own_is_kept_where_nothing_gains():
    assert gate({"own": OWN, "same": OWN, "worse": accuracy([0, 0, 1, 0] * 25)}, margin=0.0).chosen == "own"


def test_it_stays_shut_where_nothing_was_learned():
    verdict = gate({"own": OWN, "better": accuracy([1, 1, 1, 1] * 25)}, learned=False)
    assert (verdict.chosen, verdict.gain, verdict.values["better"]) == ("own", 0.0, 1.0)
    assert "nothing else was learned" in str(verdict)
