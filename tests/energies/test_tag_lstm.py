import itertools
import math

import pytest
import torch

from seal.energies.tag_language_model import TagLanguageModel, reverse_tokens
from tests.spine import all_sequences, one_hot

SYMBOLS = list(itertools.product([True, False], repeat=2))


def model_of(num_tags=3, word_dim=0, with_start=True, with_end=True, seed=0):
    torch.manual_seed(seed)
    model = TagLanguageModel(num_tags, 4, 5, word_dim, with_start, with_end).double()
    # Far from uniform.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model


def lstm_step(lstm, value, state):
    """One step of an LSTM from its printed equations (torch's order of gates: input, forget, cell, output)."""
    hidden, cell = state
    gates = lstm.weight_ih_l0 @ value + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
    let_in, forget, new, out = gates.chunk(4)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(let_in) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(cell), cell


def slow_log_likelihood(model, output, words=None):
    """Eq. 8 of one relaxed sequence `(tokens, tags)` without padding, a token at a time."""
    size = model.lstm.hidden_size
    state = torch.zeros(size, dtype=torch.double), torch.zeros(size, dtype=torch.double)
    tokens = len(output)
    total = torch.zeros((), dtype=torch.double)
    if model.start is not None:
        state = lstm_step(model.lstm, model.start, state)
    for t in range(tokens):
        if t > 0 or model.start is not None:
            scores = model.output.weight @ state[0] + model.output.bias
            probability = scores.exp() / scores.exp().sum()
            total = total + torch.log((output[t] * probability[: model.num_tags]).sum())
        value = sum(output[t, c] * model.embedding[c] for c in range(model.num_tags))
        if words is not None:
            value = torch.cat([value, words[t]])
        state = lstm_step(model.lstm, value, state)
    if model.with_end:
        scores = model.output.weight @ state[0] + model.output.bias
        total = total + torch.log(scores.exp()[-1] / scores.exp().sum())
    return total


@pytest.mark.parametrize("word_dim", [0, 2])
@pytest.mark.parametrize("with_start, with_end", SYMBOLS)
def test_a_loop_over_time(with_start, with_end, word_dim):
    model, lengths = model_of(3, word_dim, with_start, with_end), torch.tensor([4, 1, 3])
    outputs = torch.randint(3, (3, 4))
    words = torch.randn(3, 4, word_dim, dtype=torch.double) if word_dim else None
    relaxed = torch.randn(3, 4, 3, dtype=torch.double).softmax(-1)
    for given, dense in ((relaxed, relaxed), (outputs, one_hot(outputs, 3))):
        found = model(given, lengths, words)
        slow = torch.stack(
            [
                slow_log_likelihood(model, dense[b, :n], None if words is None else words[b, :n])
                for b, n in enumerate(lengths.tolist())
            ]
        )
        assert torch.allclose(found, slow, atol=1e-12)
        parameters = list(model.parameters())
        weights = torch.randn(3, dtype=torch.double)
        gradients = torch.autograd.grad((found * weights).sum(), parameters, allow_unused=True)
        expected = torch.autograd.grad((slow * weights).sum(), parameters, allow_unused=True)
        for one, other in zip(gradients, expected):
            assert other.abs().max() > 0 and torch.allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("with_start, with_end", SYMBOLS)
def test_discrete_equals_one_hot(with_start, with_end):
    model = model_of(3, 0, with_start, with_end)
    outputs = all_sequences(3, 4)
    lengths = torch.randint(1, 5, (len(outputs),))
    discrete, relaxed = model(outputs, lengths), model(one_hot(outputs, 3), lengths)
    assert discrete.std() > 0.1 and torch.allclose(discrete, relaxed, atol=1e-12)


def probability(model, tokens):
    return model(all_sequences(2, tokens), torch.full((2**tokens,), tokens)).exp().sum().item()


def test_it_is_a_distribution_over_sequences_of_any_length():
    model = model_of(2)
    ended = [probability(model, tokens) for tokens in range(1, 6)]
    # Without its last term: the probability that so many symbols are tags, whatever comes then.
    model.with_end = False
    open_ended = [probability(model, tokens) for tokens in range(1, 7)]
    for tokens in range(5):
        assert ended[tokens] + open_ended[tokens + 1] == pytest.approx(open_ended[tokens])
    assert min(ended) > 0
    # Over the tags alone the sequences of one length share all probability.
    assert probability(model_of(2, with_end=False), 4) == pytest.approx(1)


def test_without_a_start_the_first_tag_is_given():
    model = model_of(3, with_start=False, with_end=False)
    tags = all_sequences(3, 3)
    probability = model(tags, torch.full((27,), 3)).exp().view(3, 9)
    assert torch.allclose(probability.sum(dim=1), torch.ones(3, dtype=torch.double))
    assert model(torch.tensor([[2]]), torch.tensor([1])).tolist() == [0.0]


@pytest.mark.parametrize("num_tags, tokens", [(2, 3), (5, 1)])
def test_the_uniform_model(num_tags, tokens):
    model = model_of(num_tags)
    torch.nn.init.zeros_(model.output.weight)
    torch.nn.init.zeros_(model.output.bias)
    relaxed = torch.randn(2, tokens, num_tags, dtype=torch.double).softmax(-1)
    found = model(relaxed, torch.full((2,), tokens))
    assert found.tolist() == pytest.approx([-(tokens + 1) * math.log(num_tags + 1)] * 2)


def test_words_at_and_after_a_tag_do_not_reach_it():
    model = model_of(3, word_dim=2, with_end=False)
    outputs = torch.randn(1, 4, 3, dtype=torch.double).softmax(-1)
    words = torch.randn(1, 4, 2, dtype=torch.double, requires_grad=True)
    for length in range(1, 5):
        (gradient,) = torch.autograd.grad(model(outputs, torch.tensor([length]), words).sum(), words)
        reached = gradient[0].abs().amax(dim=1) > 0
        assert reached.tolist() == [t < length - 1 for t in range(4)]


def test_padding_is_not_read():
    model = model_of(3)
    lengths = torch.tensor([3, 1])
    relaxed = torch.randn(2, 4, 3, dtype=torch.double).softmax(-1).requires_grad_()
    (gradient,) = torch.autograd.grad(model(relaxed, lengths).sum(), relaxed)
    assert gradient[0, 3].abs().max() == gradient[1, 1:].abs().max() == 0
    assert gradient[0, :3].abs().amin() > 0 and gradient[1, 0].abs().amin() > 0


def test_a_relaxed_tag_that_is_impossible_has_a_bounded_energy():
    model = model_of(2)
    with torch.no_grad():
        model.output.bias.copy_(torch.tensor([-50.0, 50.0, -50.0]))
        model.output.weight.zero_()
    lengths = torch.tensor([1])
    relaxed = one_hot(torch.tensor([[0]]), 2)
    # The tag, at the least probability there is, and the end symbol.
    assert model(relaxed, lengths).item() == pytest.approx(math.log(1e-8) - 100)
    assert model.float()(relaxed.float(), lengths).item() == pytest.approx(math.log(1e-8) - 100, rel=1e-5)


def test_gold_that_is_nearly_impossible_is_learned():
    model = model_of(2)
    with torch.no_grad():
        model.output.bias.copy_(torch.tensor([-50.0, 50.0, -50.0]))
        model.output.weight.zero_()
    value = model(torch.tensor([[0]]), torch.tensor([1]))
    assert value.item() == pytest.approx(-200)
    (gradient,) = torch.autograd.grad(value.sum(), model.output.bias)
    assert gradient.tolist() == pytest.approx([1, -2, 1])


def test_the_lstm_keeps_its_mode():
    model = model_of()
    model.eval()
    assert not model.training and model.lstm.training
    outputs, lengths = torch.randint(3, (2, 4)), torch.tensor([4, 2])
    assert torch.equal(model(outputs, lengths), model.train()(outputs, lengths))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="cuDNN needs a GPU; there is none here")
def test_cudnn_descends_in_evaluation_mode():
    model = model_of().float().cuda().eval().requires_grad_(False)
    relaxed = torch.randn(2, 4, 3, device="cuda").softmax(-1).requires_grad_()
    model(relaxed, torch.tensor([4, 2], device="cuda")).sum().backward()
    assert relaxed.grad.abs().max() > 0


@pytest.mark.parametrize("shape", [(2, 5), (2, 5, 3)])
def test_reversal(shape):
    values, lengths = torch.randn(shape), torch.tensor([5, 3])
    found = reverse_tokens(values, lengths)
    for b, n in enumerate(lengths.tolist()):
        assert torch.equal(found[b, :n], values[b, :n].flip(0))
