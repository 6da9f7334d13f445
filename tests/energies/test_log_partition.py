import math

import torch

from seal.energies import LogPartitionEnergy
from tests.label_sets import label_set


def test_it_reads_the_input_alone():
    torch.manual_seed(0)
    energy = LogPartitionEnergy(2, label_set(3), hidden_dim=4).double()
    hidden = torch.randn(5, 2).double()
    with torch.no_grad():
        outputs = torch.rand(5, 6, 3).double()
        found = energy(energy.condition(hidden), outputs)
        assert torch.equal(found, torch.full((5, 6), 3 * math.log(2), dtype=torch.double))
        energy.weights.weight.fill_(0.5)
        energy.weights.bias.fill_(-0.1)
        found = energy(energy.condition(hidden), outputs)
        inner = torch.nn.functional.softplus(energy.hidden(hidden))
        wanted = 3 * math.log(2) * (1 - 0.1 + 0.5 * inner.sum(dim=1))
    torch.testing.assert_close(found, wanted.unsqueeze(1).expand(5, 6))
