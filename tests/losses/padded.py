"""What a loss of energies makes of padding."""

import torch

from seal.losses import Comparison, EnergyLoss
from seal.output_spaces import Candidates
from tests.spine import mask_of, tag_sequence


def assert_padding_takes_no_part(loss: EnergyLoss, relaxed: bool) -> None:
    """Every row of a padded batch as alone; noise stands at padding."""
    torch.manual_seed(0)
    space, lengths, gold = tag_sequence(3), [4, 1, 2], torch.randint(3, (3, 4))
    outputs = torch.randn(3, 5, 4, 3).softmax(-1) if relaxed else torch.randint(3, (3, 5, 4))
    gold_energy, energy = torch.randn(3), torch.randn(3, 5)
    found = loss(Comparison(gold_energy, energy, Candidates(outputs), gold, space, mask_of(lengths)))
    for i, n in enumerate(lengths):
        row, single = slice(i, i + 1), Candidates(outputs[i : i + 1, :, :n])
        alone = loss(Comparison(gold_energy[row], energy[row], single, gold[row, :n], space))
        assert torch.allclose(found[row], alone)
