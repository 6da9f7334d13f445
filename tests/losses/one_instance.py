"""An energy loss of one instance, of whose candidates a test gives energies, and costs or scores, alone."""

import torch

from seal.losses import Comparison
from seal.output_spaces import Candidates
from seal.scores import Cost
from tests.label_sets import label_set


class Given(Cost):
    """Costs, or scores, that a test fixes: the first variable of each output."""

    def __call__(self, output_space, outputs, gold, mask=None):
        return outputs[..., 0]


def loss_and_gradient(loss, gold_energy, energy, given=None, counts=None, noise=None, gold_noise=None):
    """The loss, and its gradient in every energy, gold's first. `given` is what `Given` gives; noise is `log P_N`."""
    energies = torch.tensor([gold_energy, *energy], dtype=torch.double, requires_grad=True)
    outputs = torch.tensor([[0.0] * len(energy) if given is None else given], dtype=torch.double).unsqueeze(-1)
    candidates = Candidates(
        outputs,
        None if noise is None else torch.tensor([noise], dtype=torch.double),
        None if gold_noise is None else torch.tensor([gold_noise], dtype=torch.double),
        None if counts is None else torch.tensor([counts], dtype=torch.double).log(),
    )
    value = loss(Comparison(energies[None, 0], energies[None, 1:], candidates, torch.zeros(1, 1), label_set(1)))
    assert value.shape == (1,)
    return value.item(), torch.autograd.grad(value.sum(), energies)[0].tolist()
