import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from seal.output_spaces import CrfTagSequence, LegalTagSequence
from seal.output_spaces.chain import Chain
from tests.spine import LABELS, all_sequences, mask_of, one_hot, vocabulary

BIOES = ["O", "B-A", "I-A", "E-A", "S-A"]
LENGTHS = [4, 1, 3]


def legal_bio():
    return LegalTagSequence(vocabulary(LABELS)).double()


def legal_bioes():
    return LegalTagSequence(vocabulary(BIOES), encoding="BIOES").double()


def crf(labels=LABELS, encoding="BIO", **settings):
    torch.manual_seed(1)
    space = CrfTagSequence(vocabulary(labels), encoding=encoding, **settings).double()
    with torch.no_grad():
        for parameter in space.crf.parameters():
            parameter.normal_(std=1.5)
    return space


SPACES = {
    "legal, BIO": legal_bio,
    "legal, BIOES": legal_bioes,
    "crf": crf,
    "crf, legal": lambda: crf(legal=True),
    "crf, BIOES, legal": lambda: crf(BIOES, "BIOES", legal=True),
}
every_space = pytest.mark.parametrize("make", SPACES.values(), ids=SPACES.keys())


def scores_of_pairs(space):
    """What the printed formula adds: rules as `-inf`, learned scores as they are."""
    tags = space.num_labels
    pairs, starts, ends = torch.zeros(tags, tags).double(), torch.zeros(tags).double(), torch.zeros(tags).double()
    if isinstance(space, CrfTagSequence):
        pairs, starts, ends = space.crf.transitions, space.crf.start_transitions, space.crf.end_transitions
    if isinstance(space, LegalTagSequence) or space.legal:
        opened = [label[2:] if label[0] in "BI" else None for label in space.labels]
        needed = [label[2:] if label[0] in "IE" else None for label in space.labels]
        closes = space.encoding == "BIO"
        for i, before in enumerate(opened):
            for j, after in enumerate(needed):
                if after != before and not (closes and after is None):
                    pairs = pairs.clone()
                    pairs[i, j] = -torch.inf
        starts = starts.masked_fill(torch.tensor([label is not None for label in needed]), -torch.inf)
        if not closes:
            ends = ends.masked_fill(torch.tensor([label is not None for label in opened]), -torch.inf)
    return pairs, starts, ends


def enumerated(space, logits):
    """Every sequence of the tokens of `logits (tokens, tags)`, and its probability."""
    pairs, starts, ends = scores_of_pairs(space)
    every = all_sequences(space.num_labels, len(logits))
    score = logits.gather(1, every.t()).sum(dim=0) + starts[every[:, 0]] + ends[every[:, -1]]
    return every, (score + pairs[every[:, :-1], every[:, 1:]].sum(dim=1)).softmax(dim=0)


@every_space
def test_probabilities_equal_enumeration(make):
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of(LENGTHS), 2 * torch.randn(3, 4, 5).double()
    for i, n in enumerate(LENGTHS):
        every, expected = enumerated(space, logits[i, :n])
        outputs = torch.nn.functional.pad(every, (0, 4 - n)).unsqueeze(0)
        found = space.log_prob(logits[i, None], outputs, mask[i, None])[0].exp()
        assert torch.allclose(found, expected) and found.sum().item() == pytest.approx(1)


@every_space
def test_marginals_equal_enumeration(make):
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of(LENGTHS), 2 * torch.randn(3, 4, 5).double()
    marginals = space.relax(logits, mask).squeeze(1)
    for i, n in enumerate(LENGTHS):
        every, probability = enumerated(space, logits[i, :n])
        assert torch.allclose(marginals[i, :n], (one_hot(every, 5) * probability[:, None, None]).sum(dim=0))
        assert not marginals[i, n:].any()


@every_space
def test_gradients(make):
    torch.manual_seed(0)
    space, mask = make(), mask_of([3, 1])
    logits = torch.randn(2, 3, 5).double().requires_grad_()
    outputs = space.sample(logits, 2, mask)
    # gradcheck changes parameters in place.
    inputs = (logits, *space.parameters())
    assert torch.autograd.gradcheck(lambda z, *_: space.log_prob(z, outputs, mask), inputs)
    assert torch.autograd.gradcheck(lambda z, *_: space.relax(z, mask), inputs)
    assert torch.autograd.gradgradcheck(lambda z, *_: space.log_prob(z, outputs, mask), inputs)
    assert torch.autograd.gradgradcheck(lambda z, *_: space.relax(z, mask), inputs)
    # The gradient of log Z by a logit is the marginal.
    (by_logits,) = torch.autograd.grad(space.chain(logits, mask).log_partition().sum(), logits)
    assert torch.allclose(by_logits, space.relax(logits, mask).squeeze(1))


@every_space
@torch.no_grad()
def test_draws_follow_the_probabilities(make):
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of([3, 1]), torch.randn(2, 3, 5).double()
    draws = space.sample(logits, 20_000, mask)
    assert draws.shape == (2, 20_000, 3) and not draws[1, :, 1:].any()
    for i, n in enumerate([3, 1]):
        every, probability = enumerated(space, logits[i, :n])
        place = (draws[i, :, :n] * 5 ** torch.arange(n - 1, -1, -1)).sum(dim=1)
        counts = place.bincount(minlength=len(every))
        possible = probability > 0
        assert counts[~possible].sum() == 0
        expected = 20_000 * probability[possible]
        # Rare ones are counted together.
        rare = expected < 5
        joined = [
            torch.cat([part[~rare], part[rare].sum(dim=0, keepdim=True) + 1e-9])
            for part in (counts[possible].double(), expected)
        ]
        assert chisquare(joined[0], joined[1] * joined[0].sum() / joined[1].sum()).pvalue > 1e-3


@every_space
def test_the_best_sequences_have_their_probabilities(make):
    torch.manual_seed(0)
    space, logits = make(), 2 * torch.randn(2, 3, 5).double()
    paths, log_prob = space.k_best(logits, 4)
    legal = space if isinstance(space, LegalTagSequence) else crf(space.labels, space.encoding, legal=True)
    for i in range(2):
        every, probability = enumerated(space, logits[i])
        possible = enumerated(legal, logits[i])[1] > 0
        best = probability.masked_fill(~possible, 0).topk(4)
        assert paths[i].tolist() == every[best.indices].tolist()
        assert torch.allclose(log_prob[i].exp(), best.values)
        assert torch.equal(space.decode(logits)[i], paths[i, 0])


def test_sums_of_products_are_those_of_logarithms():
    """Among many labels, where one tag has a score far below the others'."""
    labels = ["O"] + [f"{prefix}-{number}" for number in range(40) for prefix in "BI"]
    space = LegalTagSequence(vocabulary(labels))
    torch.manual_seed(0)
    scores, mask = 10 * torch.randn(4, 7, 81), mask_of([7, 1, 5, 2])
    scores[:, :, 3] -= 150
    chain = Chain(scores, *space._scores_of_pairs(), mask)
    log_partition, marginals, logarithms = chain.log_partition(), chain.marginals(), chain._logarithms()
    assert chain._known.is_exact
    assert torch.allclose(log_partition, logarithms.log_partition().float())
    assert torch.allclose(marginals, logarithms.marginals().transpose(0, 1).float(), atol=1e-6)


@every_space
def test_derivatives_that_are_written_out_are_those_of_autograd(make, monkeypatch):
    """Also where most is padding, at which sums mean nothing."""
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of([6, 1, 2, 1]), torch.randn(4, 6, 5).double().requires_grad_()
    outputs, slopes = space.sample(logits, 2, mask), torch.randn(4, 6, 5).double()

    def gradients():
        values = space.log_prob(logits, outputs, mask).sum(), (space.relax(logits, mask).squeeze(1) * slopes).sum()
        inputs = [logits, *space.parameters()]
        found = [torch.autograd.grad(value, inputs, allow_unused=True) for value in values]
        return [gradient for each in found for gradient in each if gradient is not None]

    written = gradients()
    monkeypatch.setattr("seal.output_spaces.chain._Sweep._has_all_terms", lambda self, transitions: False)
    for one, other in zip(written, gradients(), strict=True):
        assert one.abs().sum() > 0 and torch.allclose(one, other, atol=1e-12)


@every_space
def test_in_single_precision_for_devices_without_double(make, monkeypatch):
    torch.manual_seed(0)
    space, mask, logits = make().float(), mask_of(LENGTHS), (3 * torch.randn(3, 4, 5)).requires_grad_()
    outputs, slopes = space.sample(logits, 2, mask), torch.randn(3, 4, 5)

    def found():
        log_prob, marginals = space.log_prob(logits, outputs, mask), space.relax(logits, mask).squeeze(1)
        gradients = [
            gradient
            for value in (log_prob.sum(), (marginals * slopes).sum())
            for gradient in torch.autograd.grad(value, [logits, *space.parameters()], allow_unused=True)
            if gradient is not None
        ]
        return log_prob, marginals, *gradients

    wanted = found()
    monkeypatch.setattr("seal.output_spaces.chain.wide_type", lambda values: torch.float)
    chain = space.chain(logits, mask)
    assert chain.log_partition().dtype == chain._scores.dtype == torch.float and chain._known.is_exact
    for value, other in zip(found(), wanted, strict=True):
        assert torch.allclose(value, other, atol=1e-4)


def test_a_tag_that_may_follow_none_has_no_probability():
    allowed = torch.tensor([[True, True, False], [True, True, False], [True, True, False]])
    pairs = torch.zeros(3, 3).masked_fill(~allowed, -torch.inf)
    scores = torch.zeros(1, 3, 3, dtype=torch.double, requires_grad=True)
    chain = Chain(scores, pairs, starts=torch.tensor([0, 0, -torch.inf]))
    assert chain.marginals()[0].tolist() == [pytest.approx([0.5, 0.5, 0])] * 3
    assert chain.log_partition().item() == pytest.approx(3 * torch.tensor(2.0).log().item())
    (gradient,) = torch.autograd.grad(chain.marginals()[0, 0, 0], scores)
    assert gradient.isfinite().all()


EXTREMES = st.sampled_from([0.0, 1.0, -300.0, 700.0, -710.0, 1000.0, -2500.0, 1e5, -1e7])


@every_space
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_scores_that_are_far_apart(make, dtype, data):
    """Probabilities of scores whose exponentials no number can hold, against sums of logarithms by enumeration."""
    space, length = make().to(dtype), data.draw(st.integers(1, 3))
    logits = torch.tensor(data.draw(st.lists(EXTREMES, min_size=15, max_size=15)), dtype=dtype).view(1, 3, 5)
    if isinstance(space, CrfTagSequence):
        with torch.no_grad():
            of_pairs = data.draw(st.lists(EXTREMES, min_size=25, max_size=25))
            space.crf.transitions.copy_(torch.tensor(of_pairs).view(5, 5))
    logits, mask = logits.requires_grad_(), torch.arange(3).unsqueeze(0) < length
    pairs, starts, ends = (scores.double() for scores in scores_of_pairs(space))
    every = all_sequences(5, length)
    score = logits[0, :length].double().gather(1, every.t()).sum(dim=0) + starts[every[:, 0]] + ends[every[:, -1]]
    wanted = (score + pairs[every[:, :-1], every[:, 1:]].sum(dim=1)).log_softmax(dim=0).detach()
    found = space.log_prob(logits, torch.nn.functional.pad(every, (0, 3 - length)).unsqueeze(0), mask)
    assert torch.allclose(found[0].double(), wanted, rtol=1e-6, atol=1e-6)
    probability = (one_hot(every, 5) * wanted.exp()[:, None, None]).sum(dim=0)
    marginals = space.relax(logits, mask)[0, 0]
    assert torch.allclose(marginals[:length].double(), probability, atol=1e-6) and not marginals[length:].any()
    (by_logits,) = torch.autograd.grad(space.chain(logits, mask).log_partition().sum(), logits)
    assert torch.allclose(by_logits[0], marginals, atol=1e-6)
    (by_logits,) = torch.autograd.grad(marginals.square().sum(), logits)
    assert by_logits.isfinite().all()
    drawn = space.sample(logits, 5, mask)[0, :, :length]
    assert (wanted[(drawn * 5 ** torch.arange(length - 1, -1, -1)).sum(dim=1)] > -30).all()
    paths, log_prob = space.k_best(logits, 3, mask)
    places = (paths[0, :, :length] * 5 ** torch.arange(length - 1, -1, -1)).sum(dim=1)
    possible = ~log_prob[0].isneginf()
    assert torch.allclose(log_prob[0].double()[possible], wanted[places][possible], rtol=1e-6, atol=1e-6)


def test_the_only_path_is_certain_however_low_its_score():
    allowed, only = torch.eye(2, dtype=torch.bool), torch.ones(1, 1, 4, dtype=torch.long)
    for transitions in (torch.zeros(2, 2).masked_fill(~allowed, -torch.inf), torch.tensor([[0, -2e3], [-2e3, 0]])):
        scores = torch.zeros(1, 4, 2)
        scores[:, 0, 1] = -1000
        # The last tag is 1, and so is each before it.
        chain = Chain(scores, transitions, ends=torch.tensor([-torch.inf, 0]))
        assert chain.log_prob(only).item() == 0 and chain.log_partition().item() == -1000
        assert chain.marginals()[0].tolist() == [[0, 1]] * 4 and torch.equal(chain.sample(3), only.expand(1, 3, 4))


def test_single_precision_and_batches_of_none():
    space = legal_bio().float()
    logits = torch.randn(2, 3, 5)
    assert space.relax(logits).dtype == space.log_prob(logits, space.sample(logits, 2)).dtype == torch.float
    none = torch.zeros(0, 3, 5)
    assert space.sample(none, 2).shape == (0, 2, 3) and space.relax(none).shape == (0, 1, 3, 5)


def test_what_it_cannot_do():
    with pytest.raises(ConfigurationError, match="every sequence of tags without an encoding is legal"):
        LegalTagSequence(vocabulary(LABELS), encoding=None)
    with pytest.raises(NotImplementedError, match="LegalTagSequence has no relaxed draws"):
        legal_bio().relaxed_sample(torch.zeros(1, 2, 5), 1)
