import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from seal.losses import Comparison, RegressionLoss
from seal.losses.energy_loss import regression_loss
from seal.output_spaces import Candidates
from seal.scores import SoftF1, SoftIoU
from tests.label_sets import label_set
from tests.losses.one_instance import Given, loss_and_gradient


def regress(energy, score, reduction="sum"):
    """One instance: its loss, and the gradient of every energy. Gold's takes no part."""
    value, gradient = loss_and_gradient(RegressionLoss(Given(), reduction), math.nan, energy, score)
    return value, gradient[1:]


def test_the_oracle():
    value, gradient = regress([-0.4], [0.7])
    assert value == pytest.approx(0.6330152524, abs=1e-10)
    assert gradient == pytest.approx([0.1013123399], abs=1e-10)
    value, gradient = regress([-math.log(0.7 / 0.3)], [0.7])
    assert value == pytest.approx(0.6108643021, abs=1e-10) and gradient == pytest.approx([0], abs=1e-12)


@pytest.mark.parametrize("score", [0.0, 0.25, 1.0])
def test_against_torch(score):
    energy = torch.linspace(-8, 8, 33, dtype=torch.double, requires_grad=True)
    target = torch.full_like(energy, score)
    found = regression_loss(energy, target)
    assert torch.allclose(found, F.binary_cross_entropy_with_logits(-energy, target, reduction="none"))
    (gradient,) = torch.autograd.grad(found.sum(), energy)
    assert torch.allclose(gradient, score - torch.sigmoid(-energy))
    # The minimum is where sigma(-E) = s, and is the entropy of s; the printed sign would have none.
    if 0 < score < 1:
        entropy = -score * math.log(score) - (1 - score) * math.log(1 - score)
        assert entropy <= found.min().item() < entropy + 0.01
        assert energy[found.argmin()].item() == pytest.approx(-math.log(score / (1 - score)), abs=0.3)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_extreme_energies(dtype):
    energy = torch.tensor([50.0, -50.0, 1e4, -1e4], dtype=dtype, requires_grad=True)
    for score in (0.0, 0.5, 1.0):
        values = regression_loss(energy, torch.full_like(energy, score))
        (gradient,) = torch.autograd.grad(values.sum(), energy)
        assert values.isfinite().all() and gradient.isfinite().all()
        expected = [50 * score, 50 * (1 - score), 1e4 * score, 1e4 * (1 - score)]
        assert values.tolist() == pytest.approx(expected)
    # What is left of a right and sure energy is not rounded away.
    left = regression_loss(energy, torch.zeros_like(energy))[0].item()
    assert left == pytest.approx(math.exp(-50), rel=1e-5, abs=0)


def test_over_draws_the_energy_of_an_output_becomes_the_f1_that_it_can_expect():
    # All eight outputs as candidates, drawn each a number of times, of an input whose gold is uncertain.
    outputs = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.double)
    torch.manual_seed(0)
    chances, counts = torch.rand(8, dtype=torch.double).softmax(0), torch.randint(1, 9, (8,)).double()

    def f1(output, gold):
        total = output.sum() + gold.sum()
        return 1.0 if total == 0 else float(2 * (output * gold).sum() / total)

    expected = torch.tensor([sum(p * f1(y, gold) for p, gold in zip(chances, outputs)) for y in outputs])
    energy = (-expected.logit()).expand(8, 8).clone().requires_grad_()
    candidates = Candidates(outputs.expand(8, 8, 3), log_count=counts.log().expand(8, 8))
    losses = RegressionLoss()(Comparison(torch.zeros(8), energy, candidates, outputs, label_set(3)))
    (gradient,) = torch.autograd.grad((chances * losses).sum(), energy)
    assert torch.allclose(gradient.sum(dim=0), torch.zeros(8, dtype=torch.double), atol=1e-12)
    # And of least energy is the output of the best expected F1, which need not be the likeliest one.
    assert energy[0].argmin() == expected.argmax()


def test_gradcheck_in_energy_and_score():
    torch.manual_seed(0)
    energy = torch.randn(6, dtype=torch.double, requires_grad=True)
    score = torch.rand(6, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(regression_loss, (energy, score))
    assert torch.autograd.gradgradcheck(regression_loss, (energy, score))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_several_candidates(reduction):
    energies, scores = [-0.4, 1.3, 0.2], [0.7, 0.1, 0.5]
    alone = [regress([e], [s]) for e, s in zip(energies, scores)]
    share = 1 if reduction == "sum" else 3
    value, gradient = regress(energies, scores, reduction=reduction)
    assert value == pytest.approx(sum(v for v, _ in alone) / share)
    assert gradient == pytest.approx([g[0] / share for _, g in alone])


def test_scores_of_label_sets():
    """Soft F1 unless told otherwise. It is a constant, or the gradient into the candidates is `E ds/dy`."""
    space, gold = label_set(3), torch.tensor([[1, 0, 1]])
    outputs = torch.tensor([[[0.9, 0.2, 0.6], [0, 1, 0]]], dtype=torch.double, requires_grad=True)
    energy = torch.tensor([[0.3, -0.2]], dtype=torch.double, requires_grad=True)
    by_score = (
        (None, SoftF1(), [0.8108108108, 0]),
        (SoftIoU(), SoftIoU(), [0.6818181818, 0]),
    )
    for given, score, scores in by_score:
        for constant in (True, False):
            loss = RegressionLoss(given, constant_score=constant)
            value = loss(Comparison(torch.zeros(1), energy, Candidates(outputs), gold, space))
            assert value.item() == pytest.approx(regress(energy[0].tolist(), scores)[0])
            gradients = torch.autograd.grad(value.sum(), [energy, outputs], allow_unused=True)
            assert gradients[0].tolist()[0] == pytest.approx(regress(energy[0].tolist(), scores)[1])
            if constant:
                assert gradients[1] is None
            else:
                (slope,) = torch.autograd.grad(score(space, outputs, gold).sum(), outputs)
                assert torch.allclose(gradients[1], energy.detach().unsqueeze(2) * slope) and slope.any()
