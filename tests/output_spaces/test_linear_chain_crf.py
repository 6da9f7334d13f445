"""Its weights are those of AllenNLP's module, which trained models hold; enumeration is in test_crf_tag_sequence.py."""

import torch
from allennlp.modules import ConditionalRandomField

from seal.output_spaces.linear_chain_crf import LinearChainCrf
from tests.spine import mask_of


def test_weights_and_likelihood_are_those_of_allennlp():
    torch.manual_seed(0)
    theirs = ConditionalRandomField(4)
    torch.manual_seed(0)
    ours = LinearChainCrf(4)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert all(torch.equal(value, theirs.state_dict()[name]) for name, value in ours.state_dict().items())
    assert [p.requires_grad for p in ours.parameters()] == [p.requires_grad for p in theirs.parameters()]
    logits, tags, mask = torch.randn(3, 5, 4), torch.randint(4, (3, 1, 5)), mask_of([5, 1, 3])
    found = (ours.score(logits, tags, mask).squeeze(1) - ours.log_partition(logits, mask)).sum()
    assert torch.allclose(found, theirs(logits, tags.squeeze(1), mask))
