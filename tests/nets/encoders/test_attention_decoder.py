import pytest
import torch

from tests.trees import SYMBOLS, sentences, small_parser


def steps_of(*texts):
    """The symbols before each step of some beginnings of trees of one length."""
    rows = [[SYMBOLS.index(symbol) for symbol in text.split()] for text in texts]
    return torch.tensor([[len(SYMBOLS), *row] for row in rows])


@pytest.mark.parametrize("next_word", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_step_at_a_time_is_all_steps_at_once(next_word, layers):
    _, net = small_parser(next_word=next_word, layers=layers)
    decoder, inputs = net.encoder, sentences([1, 2, 3], [4, 5])
    earlier = steps_of("(S (NP XX ) XX", "(NP XX XX ) )")
    whole = decoder({**inputs, "earlier": earlier})
    source, state = decoder.read(inputs)
    num_read = (earlier == 0).cumsum(dim=1)
    for step in range(earlier.shape[1]):
        vectors, state = decoder.steps(source, earlier[:, step : step + 1], num_read[:, step : step + 1], state)
        assert torch.allclose(vectors[:, 0], whole[:, step])


def test_padding_of_words_and_of_steps_changes_nothing():
    _, net = small_parser()
    decoder = net.encoder
    inputs, earlier = sentences([1, 2, 3], [4, 5]), steps_of("(S XX XX XX )", "(NP XX XX ) XX")
    alone = decoder({**sentences([4, 5]), "earlier": earlier[1:, :4]})
    assert torch.allclose(decoder({**inputs, "earlier": earlier})[1, :4], alone[0])


def test_a_step_depends_on_the_symbols_before_it_alone():
    _, net = small_parser()
    inputs = sentences([1, 2, 3])
    one, other = (net.encoder({**inputs, "earlier": steps_of(text)}) for text in ("(S XX (NP XX", "(S XX XX )"))
    assert torch.equal(one[:, :3], other[:, :3]) and not torch.allclose(one[:, 3], other[:, 3])


def test_the_next_word_is_read():
    _, net = small_parser()
    # Words in another order: the mean and what attention reads stay, up to the place of the next word.
    symbols = steps_of("(S XX")
    one, other = (net.encoder({**sentences(words), "earlier": symbols}) for words in ([1, 2, 3], [3, 2, 1]))
    assert not torch.allclose(one, other)
    _, net = small_parser(next_word=False)
    one, other = (net.encoder({**sentences(words), "earlier": symbols}) for words in ([1, 2, 3], [3, 2, 1]))
    assert torch.allclose(one, other)


def test_attention_by_hand():
    _, net = small_parser(next_word=False)
    decoder, inputs = net.encoder, sentences([1, 2])
    source, state = decoder.read(inputs)
    vectors, (hidden, _) = decoder.steps(source, steps_of(""), torch.zeros(1, 1, dtype=torch.long), state)
    words = decoder.source(inputs)[0]
    weights = torch.stack([(decoder._query.weight @ hidden[-1, 0]) @ word for word in words]).softmax(dim=0)
    context = sum(weight * word for weight, word in zip(weights, words))
    expected = torch.tanh(decoder._combine(torch.cat([hidden[-1, 0], context])))
    assert torch.allclose(vectors[0, 0], expected)
