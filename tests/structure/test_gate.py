import pytest
import torch

from seal.structure.gain_priors import UNKNOWN, Earlier, Gains
from seal.structure.gate import EARLIER_GROUPS, Gain, gains_before, gate, paired, posterior
from seal.structure.scores import Ratio

#: Little is known beforehand.
OPEN = Gains(0.0, 10.0, 1e-6)


def accuracy(right):
    right = torch.tensor(right, dtype=torch.double)
    return Ratio(right, torch.ones_like(right))


OWN = accuracy([1, 0, 1, 0] * 25)


def over_a_grid(before, observed, least=-1.0, most=1.0):
    """The mean and deviation of a gain by sums of `Laplace(g; m, s) N(d; g, v)` over a grid."""
    grid = torch.linspace(least, most, 200001).double()
    logs = -(2**0.5) / before.deviation * (grid - before.mean).abs()
    weights = (logs - ((grid - observed.mean) / observed.deviation) ** 2 / 2).softmax(dim=0)
    mean = (weights * grid).sum()
    return pytest.approx(mean.item(), abs=1e-5), pytest.approx(
        (weights * (grid - mean) ** 2).sum().sqrt().item(), abs=1e-5
    )


@pytest.mark.parametrize(
    "before, observed, least, most",
    [
        ((0.02, 0.05), (-0.03, 0.04), -1.0, 1.0),
        ((0.02, 0.05), (-0.03, 0.04), -0.05, 0.01),
        ((0.1, 0.05), (-0.3, 0.3), -0.32, 0.02),
        ((0.0, 0.01), (0.9, 0.05), -1.0, 1.0),
        ((0.3, 0.02), (0.0, 0.001), -1.0, 0.1),
        ((-0.1, 0.2), (0.4, 0.5), -0.6, 0.5),
    ],
)
def test_the_posterior_is_that_over_a_grid(before, observed, least, most):
    found = posterior(Gain(*before), Gain(*observed), least, most)
    assert (found.mean, found.deviation) == over_a_grid(Gain(*before), Gain(*observed), least, most)


def test_where_the_own_output_leaves_little_nothing_large_is_expected():
    """Of 100 rows 2 are wrong. One group of 30 is worse: by the earlier gains alone this could be chance."""
    own, other = [1.0] * 98 + [0.0] * 2, [1.0] * 68 + [0.0] * 30 + [0.0] * 2
    groups = torch.tensor([*range(68), *[68] * 30, 69, 70])
    found = gate({"own": accuracy(own), "other": accuracy(other)}, {"other": Gains(0.1, 0.05, 0.01)}, groups)
    assert found.chosen == "own" and found.gains["other"].mean < 0


def test_one_option_has_the_posterior_of_its_validation_gain():
    """A gain of 25 of 100 rows, of which half are better by a half, beside one that was small on earlier data sets."""
    options = {"own": OWN, "better": accuracy([1, 0.5, 1, 0.5] * 25)}
    found = gate(options, {"better": Gains(0.1, 0.02, 0.3)})
    # The differences are a half in half of the rows: their deviation is a quarter.
    variance = (100 * 0.0625 + EARLIER_GROUPS * 0.3**2) / (100 - 1 + EARLIER_GROUPS) / 100
    told = found.gains["better"]
    data = Gain(0.25, variance**0.5)
    assert (told.mean, told.deviation) == over_a_grid(Gain(0.1, 0.02), data, 0.75 - 1, 1 - 0.5)
    assert found.observed["better"].mean == pytest.approx(0.25)
    assert found.observed["better"].deviation == pytest.approx(variance**0.5)
    assert found.values == pytest.approx({"own": 0.5, "better": 0.75}) and found.chosen == "better"
    assert " over own (earlier data sets: +10.0 ± 2.0; these 100 validation rows: +25.0 ± " in found.describe(
        "f1", "rows"
    )


def test_options_are_compared_with_the_best_of_earlier_data_sets():
    """One row more of a hundred does not prove `other` better than `best`, as the two were alike."""
    right = [0, 1, 0, 0] * 25
    options = {"own": OWN, "best": accuracy([1, 1, 1, 0] * 25), "other": accuracy([1, 1, 1, 0] * 24 + [1, 1, 1, 1])}
    earlier = {"own": Gains(-0.05, 0.05, 0.4), "other": Gains(-0.01, 0.01, 0.2)}
    found = gate(options, earlier)
    assert found.chosen == "best"
    of_own, of_other = (
        posterior(
            Gain(earlier[name].mean, earlier[name].spread),
            paired([options[name]], options["best"], [earlier[name].deviation])[0][0],
        )
        for name in ("own", "other")
    )
    assert -0.01 < of_other.mean < 0
    assert found.gains["best"].mean == pytest.approx(-of_own.mean)
    assert found.gains["best"].deviation == pytest.approx(of_own.deviation)
    assert found.gains["other"].mean == pytest.approx(of_other.mean - of_own.mean)
    assert found.gains["other"].deviation == pytest.approx((of_other.deviation**2 + of_own.deviation**2) ** 0.5)
    assert found.earlier["best"].mean == pytest.approx(0.05) and found.earlier["other"].mean == pytest.approx(0.04)
    assert found.observed["best"].mean == pytest.approx(sum(right) / 100)
    # If all say so, `own` is chosen.
    worse = {"own": OWN, "best": accuracy([0, 0, 0, 0] * 25), "other": accuracy([0, 0, 1, 0] * 25)}
    assert gate(worse, earlier).chosen == "own"


def test_priors_of_options_that_earlier_data_sets_lack():
    priors = {("tags", "f1"): Earlier("best", {"own": Gains(-0.05, 0.05, 0.4), "other": Gains(-0.01, 0.01, 0.2)})}
    known = priors["tags", "f1"].gains
    assert gains_before("tags", "f1", ["own", "other", "best"], priors) == known
    assert gains_before("tags", "f1", ["own", "new", "best"], priors) == {"own": known["own"], "new": known["own"]}
    for family, options in (("trees", ["own", "best"]), ("tags", ["own", "other"])):
        assert gains_before(family, "f1", options, priors) == {options[1]: UNKNOWN}


def test_with_thousands_of_rows_data_rule_and_with_few_the_earlier_gain():
    worse = [1, 0, 1, 0] * 9 + [0, 0, 1, 0]
    for times, chosen in ((1, "other"), (100, "own")):
        options = {"own": accuracy([1, 0, 1, 0] * 10 * times), "other": accuracy(worse * times)}
        assert gate(options, {"other": Gains(0.02, 0.02, 0.3)}).chosen == chosen


@pytest.mark.parametrize("mean, chosen", [(0.02, "better"), (-0.02, "own")])
def test_without_data_the_earlier_gain_decides_and_is_told(mean, chosen):
    none = accuracy([])
    found = gate({"own": none, "better": none}, {"better": Gains(mean, 0.03, 0.3)})
    assert found.chosen == chosen and found.gains == found.earlier
    assert (found.gains["better"].mean, found.gains["better"].deviation) == pytest.approx((mean, 0.03))
    assert "no validation data" in found.describe("f1") and f"chosen: {chosen}" in found.describe("f1")


def test_the_best_of_many_options_is_not_overestimated():
    """The mean of what is told of the chosen option is that of its true gain, where gains are as expected."""
    torch.manual_seed(0)
    laplace = torch.distributions.Laplace(0.0, 0.03 / 2**0.5)
    names, told, true = [f"option {number}" for number in range(6)], [], []
    earlier = dict.fromkeys(names, Gains(0.0, 0.03, 0.5))
    for _ in range(400):
        gains = laplace.sample((6,))
        noise = 0.5 * torch.randn(6, 100)
        options = {"own": accuracy([0.5] * 100)}
        options |= {name: accuracy(row.tolist()) for name, row in zip(names, 0.5 + gains.unsqueeze(1) + noise)}
        found = gate(options, earlier)
        if found.chosen != "own":
            told.append(found.gains[found.chosen].mean)
            true.append(gains[names.index(found.chosen)].item())
    assert len(told) > 100 and sum(told) > 1
    assert abs(sum(told) - sum(true)) / len(told) < 0.003


@pytest.mark.parametrize("times", [2, 4, 8])
def test_rows_that_are_given_several_times_count_once(times):
    generator = torch.Generator().manual_seed(1)
    right = (torch.rand(3, 60, generator=generator) < 0.5).double()
    once = {name: Ratio(row, torch.ones(60).double()) for name, row in zip(("own", "one", "other"), right)}
    again = {
        name: Ratio(ratio.numerators.repeat(times), ratio.denominators.repeat(times)) for name, ratio in once.items()
    }
    earlier = dict.fromkeys(("one", "other"), Gains(0.01, 0.05, 0.4))
    wanted, found = gate(once, earlier), gate(again, earlier, torch.arange(60).repeat(times))
    for name in earlier:
        assert found.gains[name].mean == pytest.approx(wanted.gains[name].mean)
        assert found.observed[name].deviation == pytest.approx(wanted.observed[name].deviation)
    assert (found.instances, found.groups, wanted.groups) == (60 * times, 60, 60)


def test_the_error_of_a_gain_over_groups_is_that_of_resampled_groups():
    """Groups of one to four rows that have much in common."""
    generator = torch.Generator().manual_seed(2)
    groups = torch.arange(150).repeat_interleave(torch.randint(1, 5, (150,), generator=generator))
    common = torch.randn(2, 150, generator=generator)[:, groups]
    values = torch.sigmoid(2 * common + torch.randn(common.shape, generator=generator)).double()
    sizes = torch.randint(1, 6, (len(groups),), generator=generator).double()
    own, other = (Ratio(row * sizes, sizes) for row in values)
    (gain,), number = paired([other], own, [1e-9], groups)
    sums = torch.stack([torch.zeros(150).double().index_add(0, groups, part) for part in (*(values * sizes), sizes)])
    draws = sums[:, torch.randint(150, (2000, 150), generator=generator)].sum(dim=2)
    resampled = ((draws[1] - draws[0]) / draws[2]).std().item()
    # The influence of further groups is nothing here, but their number counts.
    told = gain.deviation * ((150 - 1 + EARLIER_GROUPS) / 149) ** 0.5
    assert number == 150 and told == pytest.approx(resampled, rel=0.06)


def test_two_rows_prove_nothing():
    options = {"own": accuracy([0, 0]), "better": accuracy([1, 1])}
    found = gate(options, {"better": Gains(-0.02, 0.01, 0.3)})
    assert found.chosen == "own" and found.gains["better"].mean == pytest.approx(-0.02, abs=0.005)


def test_the_option_of_the_best_posterior_mean_is_chosen():
    options = {"own": OWN, "better": accuracy([1, 1, 1, 0] * 25), "best": accuracy([1, 1, 1, 1] * 25)}
    found = gate(options, {"better": OPEN, "best": OPEN})
    assert found.chosen == "best" and found.reasons()["gain"] == found.gains["best"].mean > 0.45
    worse = gate({"own": OWN, "worse": accuracy([0, 0, 1, 0] * 25)}, {"worse": OPEN})
    assert worse.chosen == "own" and worse.reasons()["gain"] == 0.0
    assert "chosen: own" in worse.describe("f1") and worse.reported == "worse"


def test_an_option_that_gains_more_than_it_ever_did_does_not_lower_another():
    generator = torch.Generator().manual_seed(3)
    right = torch.rand(240, generator=generator)
    options = {
        name: accuracy((right < share).tolist())
        for name, share in {"own": 0.2, "less": 0.3, "more": 0.4, "most": 0.4}.items()
    }
    earlier = {"less": Gains(0.03, 0.035, 0.25), "more": Gains(0.044, 0.045, 0.25), "most": Gains(0.0, 0.02, 0.3)}
    found = gate(options, earlier)
    assert found.chosen == "more"
    alone = gate({name: options[name] for name in ("own", "less")}, earlier)
    assert found.gains["less"] == alone.gains["less"]


def test_it_stays_shut_where_nothing_was_learned():
    found = gate({"own": OWN, "better": accuracy([1, 1, 1, 1] * 25)}, {"better": OPEN}, learned=False)
    assert (found.chosen, found.reasons()["gain"], found.values["better"]) == ("own", 0.0, 1.0)
    assert "nothing else was learned" in found.describe("f1")
