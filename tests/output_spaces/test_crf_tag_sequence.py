import pytest
import torch
from allennlp.modules import ConditionalRandomField

from seal.output_spaces import CrfTagSequence
from tests.spine import LABELS, all_sequences, is_legal, mask_of, vocabulary


def crf_space(labels=("O", "B-A", "I-A"), encoding="BIO", seed=0):
    torch.manual_seed(seed)
    space = CrfTagSequence(vocabulary(labels), encoding=encoding).double()
    with torch.no_grad():
        for parameter in space.crf.parameters():
            parameter.normal_(std=1.5)
    return space


def path_score(space, logits, tags):
    """The printed sum, in Python floats."""
    crf, logits = space.crf, logits.tolist()
    pairs, starts, ends = crf.transitions.tolist(), crf.start_transitions.tolist(), crf.end_transitions.tolist()
    score = sum(logits[t][tag] for t, tag in enumerate(tags)) + sum(pairs[a][b] for a, b in zip(tags, tags[1:]))
    return score + starts[tags[0]] + ends[tags[-1]]


def test_the_likelihood_is_over_all_paths():
    space = crf_space()
    logits = torch.randn(2, 3, 3, dtype=torch.double)
    outputs = all_sequences(3, 3)
    log_prob = space.log_prob(logits, outputs.expand(2, -1, -1))
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(2, dtype=torch.double))
    for i in range(2):
        scores = torch.tensor([path_score(space, logits[i], tags) for tags in outputs.tolist()], dtype=torch.double)
        assert log_prob[i].tolist() == pytest.approx((scores - scores.logsumexp(0)).tolist())


def test_different_lengths():
    space, lengths = crf_space(), [4, 1, 2]
    mask, logits = mask_of(lengths), torch.randn(3, 4, 3, dtype=torch.double)
    outputs = torch.randint(3, (3, 5, 4))
    log_prob = space.log_prob(logits, outputs, mask)
    for i, n in enumerate(lengths):
        every = all_sequences(3, n).tolist()
        scores = [path_score(space, logits[i, :n], tags) for tags in every]
        log_z = torch.tensor(scores, dtype=torch.double).logsumexp(0)
        expected = [path_score(space, logits[i, :n], tags) - float(log_z) for tags in outputs[i, :, :n].tolist()]
        assert log_prob[i].tolist() == pytest.approx(expected)
        alone = space.log_prob(logits[i, None, :n], outputs[i, None, :, :n])
        assert torch.allclose(alone[0], log_prob[i])
    assert torch.allclose(space.cross_entropy(logits, outputs[:, 2], mask), -log_prob[:, 2])


def test_gradient():
    space, mask = crf_space(), mask_of([3, 2])
    logits = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
    outputs = torch.randint(3, (2, 2, 3))
    crf = space.crf
    # gradcheck changes the parameters in place.
    inputs = (logits, crf.transitions, crf.start_transitions, crf.end_transitions)
    assert torch.autograd.gradcheck(lambda z, *_: space.log_prob(z, outputs, mask), inputs)


@pytest.mark.parametrize("encoding", ["BIO", None])
def test_decode_equals_enumeration(encoding):
    space, lengths = crf_space(LABELS, encoding), [4, 3, 1] * 5
    mask, logits = mask_of(lengths), torch.randn(15, 4, 5, dtype=torch.double)
    decoded, overruled = space.decode(logits, mask), 0
    for i, n in enumerate(lengths):
        every = all_sequences(5, n).tolist()
        legal = [tags for tags in every if encoding is None or is_legal([LABELS[t] for t in tags])]

        def score(tags):
            return path_score(space, logits[i], tags)

        # The best path of the batch's n real tokens: the score stops where the tags do.
        assert decoded[i].tolist() == max(legal, key=score) + [0] * (4 - n)
        assert torch.equal(space.decode(logits[i, None, :n])[0], decoded[i, :n])
        overruled += max(legal, key=score) != max(every, key=score)
    assert (overruled > 0) == (encoding == "BIO")


def test_no_probability_of_relaxed_outputs():
    with pytest.raises(TypeError, match="CrfTagSequence gives no probability of relaxed outputs"):
        crf_space().log_prob(torch.randn(1, 3, 3).double(), torch.rand(1, 1, 3, 3))


def test_equals_the_module_of_allennlp():
    """Its initial values from the same seed, its likelihood, and its weights in an archive."""
    torch.manual_seed(3)
    theirs = ConditionalRandomField(4)
    torch.manual_seed(3)
    space = CrfTagSequence(vocabulary(["a", "b", "c", "d"]), encoding=None)
    for name, tensor in space.crf.named_parameters():
        assert torch.equal(tensor, getattr(theirs, name))
    space.load_state_dict({f"crf.{name}": tensor + 1 for name, tensor in theirs.state_dict().items()})
    assert torch.equal(space.crf.transitions, theirs.transitions + 1)
    with torch.no_grad():
        for name, tensor in space.crf.named_parameters():
            getattr(theirs, name).copy_(tensor)
    mask, logits, tags = mask_of([5, 2]), torch.randn(2, 5, 4), torch.randint(4, (2, 5))
    found = space.log_prob(logits, tags.unsqueeze(1), mask).sum()
    assert torch.allclose(found, theirs(logits, tags, mask))


def test_the_transitions_are_saved_and_the_rules_are_not():
    names = set(crf_space().state_dict())
    assert {"crf.transitions", "crf.start_transitions", "crf.end_transitions"} <= names
    assert not any(name in ("_transitions", "_starts") for name in names)


def test_a_bioes_sequence_is_legal_to_its_end():
    labels = ["O", "B-A", "I-A", "E-A", "S-A"]
    space = CrfTagSequence(vocabulary(labels), encoding="BIOES")
    torch.manual_seed(0)
    logits = torch.randn(50, 4, 5)
    logits[:, :, 1:3] += 4  # It would like to begin, and not to end.
    inside = {"B", "I"}
    for tags in space.decode(logits).tolist():
        open_before = False
        for tag in tags:
            prefix = labels[tag][0]
            assert (prefix in "IE") == open_before
            open_before = prefix in inside
        assert not open_before
