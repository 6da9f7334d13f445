from functools import lru_cache

import pytest
import torch
from allennlp.modules import ConditionalRandomField
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from seal.common.tag_encodings import first_broken
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


@lru_cache
def legal(labels, encoding, length):
    """Which of all sequences are legal."""
    every = [[labels[tag] for tag in tags] for tags in all_sequences(len(labels), length).tolist()]
    return torch.tensor([encoding is None or first_broken(tags, encoding) is None for tags in every])


def enumerated(space, logits):
    """Every sequence of the tokens of `logits (tokens, tags)`, and its log-probability, by the printed formula."""
    every = all_sequences(space.num_labels, len(logits))
    score = logits.double().gather(1, every.t()).sum(dim=0)
    if isinstance(space, CrfTagSequence):
        pairs, starts, ends = (scores.double() for scores in space.crf.scores())
        score = score + starts[every[:, 0]] + ends[every[:, -1]] + pairs[every[:, :-1], every[:, 1:]].sum(dim=1)
    if isinstance(space, LegalTagSequence) or space.legal:
        score = score.masked_fill(~legal(tuple(space.labels), space.encoding, len(logits)), -torch.inf)
    return every, score.log_softmax(dim=0)


def place_of(tags):
    """Where each of `tags (..., tokens)` is among all sequences of five tags."""
    return (tags * 5 ** torch.arange(tags.shape[-1] - 1, -1, -1)).sum(dim=-1)


@every_space
def test_probabilities_equal_enumeration(make):
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of(LENGTHS), 2 * torch.randn(3, 4, 5).double()
    for i, n in enumerate(LENGTHS):
        every, expected = enumerated(space, logits[i, :n])
        outputs = torch.nn.functional.pad(every, (0, 4 - n)).unsqueeze(0)
        found = space.log_prob(logits[i, None], outputs, mask[i, None])[0].exp()
        assert torch.allclose(found, expected.exp()) and found.sum().item() == pytest.approx(1)


@every_space
def test_marginals_equal_enumeration(make):
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of(LENGTHS), 2 * torch.randn(3, 4, 5).double()
    marginals = space.relax(logits, mask).squeeze(1)
    for i, n in enumerate(LENGTHS):
        every, log_prob = enumerated(space, logits[i, :n])
        assert torch.allclose(marginals[i, :n], (one_hot(every, 5) * log_prob.exp()[:, None, None]).sum(dim=0))
        assert not marginals[i, n:].any()


@pytest.mark.parametrize("lengths", [[3, 1], [1, 1]])
@every_space
def test_gradients(make, lengths):
    torch.manual_seed(0)
    space, mask = make(), mask_of(lengths)
    logits = torch.randn(2, max(lengths), 5).double().requires_grad_()
    outputs = space.sample(logits, 2, mask)
    # gradcheck changes parameters in place.
    inputs = (logits, *space.parameters())
    for function in (lambda z, *_: space.log_prob(z, outputs, mask), lambda z, *_: space.relax(z, mask)):
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)
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
        every, log_prob = enumerated(space, logits[i, :n])
        counts = place_of(draws[i, :, :n]).bincount(minlength=len(every))
        possible = log_prob > -torch.inf
        assert counts[~possible].sum() == 0
        expected = 20_000 * log_prob[possible].exp()
        # Rare ones are counted together.
        rare = expected < 5
        joined = [
            torch.cat([part[~rare], part[rare].sum(dim=0, keepdim=True) + 1e-9])
            for part in (counts[possible].double(), expected)
        ]
        assert chisquare(joined[0], joined[1] * joined[0].sum() / joined[1].sum()).pvalue > 1e-3


DECODED = {**SPACES, "crf, any": lambda: crf(encoding=None), "crf, BIOES": lambda: crf(BIOES, "BIOES")}


@pytest.mark.parametrize("make", DECODED.values(), ids=DECODED.keys())
def test_the_best_sequences_have_their_probabilities(make):
    """They are legal, also where the distribution knows no rules."""
    torch.manual_seed(0)
    space, lengths, logits = make(), [4, 2, 3], 2 * torch.randn(3, 4, 5).double()
    mask = mask_of(lengths)
    (paths, log_prob), decoded = space.k_best(logits, 4, mask), space.decode(logits, mask)
    for i, n in enumerate(lengths):
        every, expected = enumerated(space, logits[i, :n])
        best = expected.masked_fill(~legal(tuple(space.labels), space.encoding, n), -torch.inf).topk(4)
        assert torch.equal(paths[i, :, :n], every[best.indices]) and not paths[i, :, n:].any()
        assert torch.allclose(log_prob[i], best.values)
        assert torch.equal(decoded[i], paths[i, 0])


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


def values_and_gradients(space, logits, outputs, slopes, mask):
    log_prob, marginals = space.log_prob(logits, outputs, mask), space.relax(logits, mask).squeeze(1)
    values, inputs = (log_prob.sum(), (marginals * slopes).sum()), [logits, *space.parameters()]
    found = [torch.autograd.grad(value, inputs, allow_unused=True) for value in values]
    return log_prob, marginals, *(gradient for each in found for gradient in each if gradient is not None)


@every_space
def test_derivatives_that_are_written_out_are_those_of_autograd(make, monkeypatch):
    """Also where most is padding, at which sums mean nothing."""
    torch.manual_seed(0)
    space, mask, logits = make(), mask_of([6, 1, 2, 1]), torch.randn(4, 6, 5).double().requires_grad_()
    given = space, logits, space.sample(logits, 2, mask), torch.randn(4, 6, 5).double(), mask
    written = values_and_gradients(*given)
    monkeypatch.setattr("seal.output_spaces.chain._Sweep._has_all_terms", lambda self, transitions: False)
    for one, other in zip(written, values_and_gradients(*given), strict=True):
        assert one.abs().sum() > 0 and torch.allclose(one, other, atol=1e-12)


@every_space
def test_in_single_precision_for_devices_without_double(make, monkeypatch):
    torch.manual_seed(0)
    space, mask, logits = make().float(), mask_of(LENGTHS), (3 * torch.randn(3, 4, 5)).requires_grad_()
    given = space, logits, space.sample(logits, 2, mask), torch.randn(3, 4, 5), mask
    wanted = values_and_gradients(*given)
    monkeypatch.setattr("seal.output_spaces.chain.wide_type", lambda values: torch.float)
    chain = space.chain(logits, mask)
    assert chain.log_partition().dtype == chain._scores.dtype == torch.float and chain._known.is_exact
    for value, other in zip(values_and_gradients(*given), wanted, strict=True):
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
    every, wanted = enumerated(space, logits[0, :length].detach())
    found = space.log_prob(logits, torch.nn.functional.pad(every, (0, 3 - length)).unsqueeze(0), mask)
    assert torch.allclose(found[0].double(), wanted, rtol=1e-6, atol=1e-6)
    probability = (one_hot(every, 5) * wanted.exp()[:, None, None]).sum(dim=0)
    marginals = space.relax(logits, mask)[0, 0]
    assert torch.allclose(marginals[:length].double(), probability, atol=1e-6) and not marginals[length:].any()
    (by_logits,) = torch.autograd.grad(space.chain(logits, mask).log_partition().sum(), logits)
    assert torch.allclose(by_logits[0], marginals, atol=1e-6)
    (by_logits,) = torch.autograd.grad(marginals.square().sum(), logits)
    assert by_logits.isfinite().all()
    assert (wanted[place_of(space.sample(logits, 5, mask)[0, :, :length])] > -30).all()
    paths, log_prob = space.k_best(logits, 3, mask)
    places = place_of(paths[0, :, :length])
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


def test_a_crf_equals_the_module_of_allennlp():
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
    names = set(crf().state_dict())
    assert {"crf.transitions", "crf.start_transitions", "crf.end_transitions"} <= names
    assert not any(name in ("_transitions", "_starts") for name in names)
