import torch
from allennlp.common import Params

from seal.common.tag_encodings import tags_to_spans
from seal.energies import Energy
from seal.output_spaces import LabelSet, TagSequence
from tests.spine import LABELS, all_sequences, one_hot, vocabulary

RULE = {"type": "at_most_one", "labels": ["A", "B"]}


def energy(space, rule=RULE, **settings):
    params = Params({"type": "constraints", "constraints": [dict(rule)], **settings})
    return Energy.from_params(params, input_dim=3, output_space=space)


def test_the_energy_of_tags():
    term = energy(TagSequence(vocabulary(LABELS)), weight=2.5)
    tags = all_sequences(5, 3).unsqueeze(0)
    spans = torch.tensor([[len(tags_to_spans([LABELS[t] for t in row])) for row in tags[0].tolist()]])
    assert torch.equal(term(None, tags), 2.5 * (spans - 1).clamp(min=0).float())
    assert torch.equal(term(None, one_hot(tags[0], 5, torch.float).unsqueeze(0)), term(None, tags))


def test_the_energy_of_label_sets():
    space = LabelSet(vocabulary(["A", "B", "C"], "labels"))
    assert energy(space)(None, torch.tensor([[[1.0, 1, 0], [0, 1, 1], [0.75, 0.5, 1]]])).tolist() == [[1, 0, 0.25]]
