"""What the tests of structures share: energies with parameters at random, and frames of a few roles."""

import dataclasses
import random

import torch

from seal.structure.tag_sequences import ExcludedGold, TagScheme

TAGS = ["O", "B-A0", "I-A0", "B-A1", "I-A1", "B-V"]
SCHEME = TagScheme(TAGS, "BIO")
#: Of all encodings the tags of two labels.
ENCODINGS = {
    "BIO": ["O", "B-A", "I-A", "B-B", "I-B"],
    "BIOES": ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "E-B"],
}


def filled(energy):
    """The energy with parameters at random, the same each time."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return energy


def random_tags(num_tags, batch, candidates, tokens, seed=0):
    """Tag sequences at random, legal or not, `(batch, candidates, tokens)`, their lengths and their mask."""
    chance = random.Random(seed)
    lengths = [chance.randint(1, tokens) for _ in range(batch)]
    tags = [[[chance.randrange(num_tags) for _ in range(tokens)] for _ in range(candidates)] for _ in range(batch)]
    return torch.tensor(tags), lengths, torch.arange(tokens) < torch.tensor(lengths).unsqueeze(1)


def excluded_gold(gold, group=None):
    """What the instances of `gold` leave out as training data, each alone or with those of its group."""
    group = torch.arange(len(gold.tags)) if group is None else torch.tensor(group)
    return ExcludedGold(group, gold, group)


def of_training(gold, group=None):
    """Gold, as the only candidates, once more as training data, whose counts leave out the gold of a group."""
    return dataclasses.replace(gold, excluded=excluded_gold(gold, group))
