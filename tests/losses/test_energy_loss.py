import itertools
import math
from collections import Counter

import torch
from allennlp.common import Params

from seal.energies import Energy
from seal.losses import Comparison, EnergyLoss
from seal.output_spaces import Candidates
from tests.spine import tag_sequence


def test_it_makes_a_language_model_of_tags_learn_their_distribution():
    """Maximum likelihood: the model's probabilities come to be the relative frequencies, and the loss their entropy."""
    torch.manual_seed(0)
    space, tokens = tag_sequence(2), 2
    tags = torch.tensor([[0, 1]] * 5 + [[1, 1]] * 2 + [[0, 0]])
    params = Params({"type": "tag_language_model", "hidden_dim": 8, "embedding_dim": 4})
    energy = Energy.from_params(params, input_dim=1, output_space=space)
    loss_of = EnergyLoss.from_params(Params({"type": "gold_energy"}))
    optimizer = torch.optim.Adam(energy.parameters(), lr=0.02)
    for _ in range(400):
        found = energy(None, tags.unsqueeze(1))
        loss = loss_of(Comparison(found[:, 0], found, Candidates(tags.unsqueeze(1)), tags, space))
        assert loss.shape == (8,)
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
    shares = {row: count / 8 for row, count in Counter(map(tuple, tags.tolist())).items()}
    entropy = -sum(share * math.log(share) for share in shares.values())
    assert abs(loss.mean().item() - entropy) < 0.02
    for row in itertools.product(range(2), repeat=tokens):
        probability = math.exp(-energy(None, torch.tensor([[row]])).item())
        assert abs(probability - shares.get(row, 0.0)) < 0.02
