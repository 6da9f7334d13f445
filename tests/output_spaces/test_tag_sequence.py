import math
from collections import Counter

import pytest
import torch
from allennlp.data import Vocabulary
from scipy.stats import chi2, kstest

from seal.common.tag_encodings import first_broken
from seal.output_spaces import TagSequence
from tests.spine import LABELS, all_sequences, mask_of, one_hot, tag_sequence, vocabulary


def probability(logits, tags):
    """The product of softmax probabilities in Python floats."""
    product = 1.0
    for row, tag in zip(logits.tolist(), tags):
        product *= math.exp(row[tag]) / sum(math.exp(z) for z in row)
    return product


def test_probabilities_of_all_sequences():
    torch.manual_seed(0)
    space, logits = tag_sequence(3), 2 * torch.randn(2, 3, 3, dtype=torch.double)
    outputs = all_sequences(3, 3).expand(2, -1, -1)
    log_prob = space.log_prob(logits, outputs)
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(2, dtype=torch.double))
    for i in range(2):
        expected = [math.log(probability(logits[i], tags)) for tags in outputs[i].tolist()]
        assert log_prob[i].tolist() == pytest.approx(expected)
    gold = outputs[:, 5]
    assert space.cross_entropy(logits, gold).tolist() == pytest.approx((-log_prob[:, 5]).tolist())


def test_logits_in_half_precision_are_summed_in_single_precision():
    """As of a net of the user's own, in mixed precision: among 120 tokens half precision would be off by a nat."""
    torch.manual_seed(0)
    space, logits = tag_sequence(3), torch.randn(2, 120, 3).bfloat16()
    outputs = torch.randint(3, (2, 4, 120))
    log_prob = space.log_prob(logits, outputs)
    assert torch.equal(log_prob, space.log_prob(logits.float(), outputs)) and log_prob.dtype == torch.float
    assert space.relax(logits).dtype == space.relaxed_sample(logits, 2).dtype == torch.float
    assert space.relax(logits.double()).dtype == torch.double


@pytest.mark.parametrize("lengths", [None, [4, 2]])
def test_discrete_and_relaxed_forms_agree(lengths):
    torch.manual_seed(1)
    space, mask = tag_sequence(3), None if lengths is None else mask_of(lengths)
    logits = torch.randn(2, 4, 3, dtype=torch.double)
    outputs, gold = torch.randint(3, (2, 5, 4)), torch.randint(3, (2, 4))
    relaxed = one_hot(outputs, 3)
    assert torch.allclose(space.inner(logits, outputs, mask), space.inner(logits, relaxed, mask))
    assert torch.allclose(space.log_prob(logits, outputs, mask), space.log_prob(logits, relaxed, mask))
    for discrete, dense in zip(space.overlap(outputs, gold, mask), space.overlap(relaxed, gold, mask)):
        assert torch.allclose(discrete.double(), dense)


def test_inner_and_overlap_of_relaxed_outputs():
    torch.manual_seed(2)
    space, mask = tag_sequence(3), mask_of([4, 2])
    scores = torch.randn(2, 4, 3, dtype=torch.double)
    outputs = torch.randn(2, 5, 4, 3, dtype=torch.double).softmax(-1) * mask[:, None, :, None]
    gold = torch.randint(3, (2, 4))
    inner, (intersection, union) = space.inner(scores, outputs, mask), space.overlap(outputs, gold, mask)
    for b, length in enumerate([4, 2]):
        dense_gold = one_hot(gold[b, :length], 3)
        for k in range(5):
            rows = outputs[b, k, :length]
            assert inner[b, k].item() == pytest.approx((scores[b, :length] * rows).sum().item())
            assert intersection[b, k].item() == pytest.approx(torch.minimum(rows, dense_gold).sum().item())
            assert union[b, k].item() == pytest.approx(torch.maximum(rows, dense_gold).sum().item())


@pytest.mark.parametrize("relaxed", [False, True])
def test_gradient_of_log_prob(relaxed):
    torch.manual_seed(3)
    space, mask = tag_sequence(3), mask_of([3, 1])
    outputs = torch.randint(3, (2, 4, 3))
    outputs = one_hot(outputs, 3) if relaxed else outputs
    logits = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: space.log_prob(z, outputs, mask), logits)
    (gradient,) = torch.autograd.grad(space.log_prob(logits, outputs, mask).sum(), logits)
    assert gradient[1, 1:].abs().max() == 0 < gradient[1, 0].abs().max()


def test_relax():
    space, mask = tag_sequence(3), mask_of([3, 1])
    logits = torch.randn(2, 3, 3, dtype=torch.double)
    relaxed = space.relax(logits, mask)
    assert relaxed.shape == (2, 1, 3, 3)
    for tag in range(3):
        assert relaxed[1, 0, 0, tag].item() == pytest.approx(probability(logits[1, :1], [tag]))
    assert torch.equal(relaxed.sum(-1) > 0.5, mask.unsqueeze(1)) and relaxed[1, 0, 1:].abs().max() == 0


def test_sample_frequencies():
    """Joint frequencies, so dependence between tokens would show too; a chi-square test at one in 10,000."""
    torch.manual_seed(0)
    space, samples = tag_sequence(3), 20_000
    logits = 1.5 * torch.randn(2, 2, 3, requires_grad=True)
    mask = mask_of([2, 1])
    drawn = space.sample(logits, samples, mask)
    assert drawn.shape == (2, samples, 2) and drawn.dtype == torch.long and not drawn.requires_grad
    assert drawn[1, :, 1].abs().max() == 0
    for i, length in enumerate([2, 1]):
        counts = Counter(map(tuple, drawn[i, :, :length].tolist()))
        sequences = [tuple(tags) for tags in all_sequences(3, length).tolist()]
        expected = [samples * probability(logits[i, :length], tags) for tags in sequences]
        statistic = sum((counts[tags] - n) ** 2 / n for tags, n in zip(sequences, expected))
        assert statistic < chi2.ppf(0.9999, len(sequences) - 1)


def test_relaxed_draws_are_of_the_concrete_distribution():
    """
    Gumbel noise makes `temperature log(y_i / y_j) - (z_i - z_j)` logistic, and the largest a draw of the distribution;
    tests at one in 10,000. Padding is 0.
    """
    torch.manual_seed(0)
    space, samples, temperature, mask = tag_sequence(3), 50_000, 0.7, mask_of([2, 1])
    logits = 1.5 * torch.randn(2, 2, 3, dtype=torch.double)
    draws = space.relaxed_sample(logits, samples, mask, temperature)
    assert draws.shape == (2, samples, 2, 3) and not draws[1, :, 1].any()
    # shape: (real tokens, tags), (real tokens, samples, tags)
    scores, drawn = logits[mask], draws.transpose(1, 2)[mask]
    assert torch.allclose(drawn.sum(dim=-1), torch.ones(3, samples, dtype=torch.double))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        noise = temperature * (drawn[..., i] / drawn[..., j]).log() - (scores[:, i] - scores[:, j]).unsqueeze(1)
        # So many tell it from the nearest normal distribution.
        assert kstest(noise.flatten(), "logistic").pvalue > 1e-4
    for token in range(3):
        counts, expected = drawn[token].argmax(dim=-1).bincount(minlength=3), samples * scores[token].softmax(dim=-1)
        assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(0.9999, 2)


BIOES = ["O", "B-A", "I-A", "E-A", "S-A", "S-B"]
encodings = pytest.mark.parametrize("encoding, labels", [("BIO", LABELS), ("BIOES", BIOES)])


def is_legal(encoding, labels, tags):
    return first_broken([labels[tag] for tag in tags], encoding) is None


@encodings
def test_decode_is_the_best_legal_sequence(encoding, labels):
    torch.manual_seed(0)
    space, overruled = TagSequence(vocabulary(labels), encoding=encoding), 0
    for length in (4, 2, 1):
        legal = [tags for tags in all_sequences(len(labels), length).tolist() if is_legal(encoding, labels, tags)]
        logits, mask = 2 * torch.randn(20, 4, len(labels)), mask_of([4] + [length] * 20)[1:]
        decoded = space.decode(logits, mask)
        for i in range(20):
            best = max(legal, key=lambda tags: sum(float(logits[i, t, tag]) for t, tag in enumerate(tags)))
            assert decoded[i].tolist() == best + [0] * (4 - length)
            overruled += decoded[i, :length].tolist() != logits[i, :length].argmax(-1).tolist()
    assert overruled > 10  # Otherwise the test would say nothing.


@encodings
def test_extreme_logits_decode_to_a_legal_sequence(encoding, labels):
    """Sure of a span that neither begins nor ends, however far its tag is before the others."""
    space = TagSequence(vocabulary(labels), encoding=encoding)
    logits = torch.full((1, 200, len(labels)), -50.0)
    logits[:, :, labels.index("I-A")] = 50.0
    for scale in (1, 1e3, 1e30):
        assert is_legal(encoding, labels, space.decode(scale * logits)[0].tolist())
        paths, log_prob = space.k_best(scale * logits[:, :3], 4)
        assert all(is_legal(encoding, labels, path) for path in paths[0].tolist()) and log_prob.isfinite().all()


def test_decode_without_encoding():
    logits = torch.randn(3, 4, 5)
    assert torch.equal(TagSequence(vocabulary(), encoding=None).decode(logits), logits.argmax(-1))


def test_decode_without_the_constraint_of_the_encoding():
    torch.manual_seed(0)
    constrained, free = TagSequence(vocabulary()), TagSequence(vocabulary(), constrained=False)
    logits = torch.randn(30, 4, len(constrained.labels))
    assert torch.equal(free.decode(logits), logits.argmax(-1))
    assert free.encoding == "BIO" and not torch.equal(free.decode(logits), constrained.decode(logits))


def test_stack_of_mixed_forms():
    space = tag_sequence(3)
    gold, relaxed = torch.randint(3, (2, 1, 4)), torch.rand(2, 3, 4, 3)
    stacked = space.stack(gold, relaxed)
    assert stacked.shape == (2, 4, 4, 3) and stacked.dtype == relaxed.dtype
    assert torch.equal(stacked[:, :1].argmax(-1), gold) and torch.equal(stacked[:, :1].sum(-1), torch.ones(2, 1, 4))
    assert torch.equal(stacked[:, 1:], relaxed)
    discrete = space.stack(gold, gold)
    assert discrete.dtype == torch.long and torch.equal(discrete, gold.expand(2, 2, 4))


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_extreme_logits(dtype):
    space = tag_sequence(3)
    logits = torch.tensor([[[50.0, -50.0, -50.0], [-50.0, 50.0, 50.0]]], dtype=dtype, requires_grad=True)
    outputs = torch.tensor([[[1, 0], [0, 1], [0, 2]]])
    log_prob = space.log_prob(logits, outputs)
    # log softmax: -100, 0 and -100 - log 2, -log 2.
    expected = [-200 - math.log(2), -math.log(2), -math.log(2)]
    assert log_prob[0].tolist() == pytest.approx(expected, rel=1e-6)
    (gradient,) = torch.autograd.grad(log_prob[0, 0], logits)
    assert gradient[0].tolist() == [pytest.approx(row, abs=1e-6) for row in [[-1, 1, 0], [1, -0.5, -0.5]]]
    assert torch.equal(space.sample(logits, 50)[0, :, 0], torch.zeros(50).long())
    assert set(space.sample(logits, 50)[0, :, 1].tolist()) == {1, 2}
    relaxed = space.relax(logits)
    (gradient,) = torch.autograd.grad(relaxed[0, 0, 0, 0], logits)
    assert torch.isfinite(relaxed).all() and torch.isfinite(gradient).all()
    assert space.decode(logits)[0, 0] == 0


def test_padding_changes_nothing():
    torch.manual_seed(4)
    space, lengths = TagSequence(vocabulary()), [4, 1, 2]
    mask, logits = mask_of(lengths), torch.randn(3, 4, 5, dtype=torch.double)
    # What stands at padding is noise, not zeros.
    outputs, gold = torch.randint(5, (3, 6, 4)), torch.randint(5, (3, 4))
    relaxed = torch.rand(3, 6, 4, 5, dtype=torch.double).softmax(-1)

    def everything(logits, outputs, relaxed, gold, mask):
        return [
            space.log_prob(logits, outputs, mask),
            space.log_prob(logits, relaxed, mask),
            space.inner(logits, outputs, mask),
            space.inner(logits, relaxed, mask),
            *space.overlap(outputs, gold, mask),
            *space.overlap(relaxed, gold, mask),
            space.cross_entropy(logits, gold, mask),
        ]

    batch = everything(logits, outputs, relaxed, gold, mask)
    for i, n in enumerate(lengths):
        single_outputs, single_relaxed = outputs[i, None, :, :n], relaxed[i, None, :, :n]
        alone = everything(logits[i, None, :n], single_outputs, single_relaxed, gold[i, None, :n], None)
        for together, single in zip(batch, alone):
            assert torch.allclose(together[i], single[0])
        assert torch.equal(space.decode(logits, mask)[i, :n], space.decode(logits[i, None, :n])[0])
        assert torch.allclose(space.relax(logits, mask)[i, :, :n], space.relax(logits[i, None, :n])[0])


def test_an_unpadded_namespace_of_any_name():
    vocab = Vocabulary(non_padded_namespaces=["srl"], tokens_to_add={"srl": ["O", "B-A"]})
    assert TagSequence(vocab, "srl").labels == ["O", "B-A"]


def test_straight_through():
    """The argmax in value, the relaxation in gradient; padding stays 0."""
    torch.manual_seed(0)
    space, logits = tag_sequence(3), torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    mask, weights = mask_of([4, 2]), torch.randn(2, 1, 4, 3, dtype=torch.double)
    relaxed = space.relax(logits, mask)
    output = space.straight_through(relaxed)
    expected = one_hot(logits.argmax(-1), 3).double() * mask.unsqueeze(-1)
    assert torch.allclose(output.squeeze(1), expected, atol=1e-12)
    (through,) = torch.autograd.grad((weights * output).sum(), logits, retain_graph=True)
    (straight,) = torch.autograd.grad((weights * relaxed).sum(), logits)
    assert torch.equal(through, straight) and straight.abs().sum() > 0


@pytest.mark.parametrize(
    "tags, notation, encoding",
    [
        (["O", "B-A", "I-A"], "IOB1 B-X I-X O", "BIO"),
        (["O", "B-A", "E-A", "S-A"], "BIO B-X I-X O", "BIOES"),
        (["S-x", "NN"], None, None),
    ],
)
def test_the_encoding_is_that_in_which_the_reader_read_the_training_data(tags, notation, encoding):
    counter = {"tags": dict.fromkeys(tags, 1)}
    if notation is not None:
        counter["tag_notation_labels"] = {notation: 1}
    vocab = Vocabulary(counter)
    space = TagSequence(vocab, encoding="auto")
    assert space.encoding == encoding
    assert set(vocab.get_namespaces()) <= {"tags", "tag_notation_labels"}


@pytest.mark.parametrize("encoding", ["BIO", "BIOES", None])
def test_which_sequences_are_legal(encoding):
    """Those to which decoding leaves all sequences of some logits, by enumeration."""
    labels = ["O", "B-x", "I-x"] + (["E-x", "S-x"] if encoding == "BIOES" else [])
    space = TagSequence(labels, encoding=encoding)
    sequences = torch.cartesian_prod(*[torch.arange(len(labels))] * 3)
    for length in (1, 2, 3):
        mask = (torch.arange(3) < length).unsqueeze(0)
        outputs = (sequences * mask).unique(dim=0)
        logits = 9.0 * torch.nn.functional.one_hot(outputs, len(labels)).double()
        decoded = space.decode(logits, mask.expand(len(outputs), 3)) * mask
        expected = (decoded == outputs).all(dim=1)
        assert torch.equal(space.is_legal(outputs.unsqueeze(0), mask)[0], expected)
        assert expected.all() if encoding is None else 0 < expected.sum() < len(expected)
