import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary
from allennlp.modules.seq2seq_encoders import PytorchSeq2SeqWrapper

from seal.nets.encoders import Encoder
from seal.nets.encoders.seq2seq import lstm_of_padded
from seal.tasks.tagging.reader import TaggingReader
from tests.spine import VOCAB, encoder_params, srl_batch


def encoder_of(**changes):
    torch.manual_seed(0)
    return Encoder.from_params(Params({**encoder_params(), **changes}), vocab=VOCAB).double().eval()


def without_predicate():
    return {"predicate_dim": 0, "encoder": {"type": "lstm", "input_size": 5, "hidden_size": 4, "bidirectional": True}}


def test_the_predicate_changes_the_vectors():
    encoder, batch = encoder_of(), srl_batch([0])
    found = encoder(batch)
    assert found.shape == (1, 4, 8) and encoder.get_output_dim() == 8
    for i in (0, 1, 3):
        batch["predicate"] = torch.eye(4).long()[i : i + 1]
        assert (encoder(batch) - found).abs().amax(dim=-1).min() > 1e-6
    batch["predicate"] = torch.eye(4).long()[2:3]
    assert torch.equal(encoder(batch), found)


def test_without_predicate_dim():
    encoder, batch = encoder_of(**without_predicate()), srl_batch([0, 1])
    assert encoder({"tokens": batch["tokens"]}).shape[:2] == batch["predicate"].shape
    with pytest.raises(ConfigurationError, match="encoder.predicate_dim"):
        encoder(batch)


def test_padding_changes_nothing():
    encoder = encoder_of()
    together = encoder(srl_batch())
    for i in range(5):
        alone = encoder(srl_batch([i]))
        n = alone.shape[1]
        assert torch.allclose(together[i, :n], alone[0])
        assert together[i, n:].abs().sum() == 0


def test_dropout_is_for_training():
    encoder, batch = encoder_of(dropout=0.5), srl_batch([0])
    assert torch.equal(encoder(batch), encoder(batch))
    encoder.train()
    assert not torch.equal(encoder(batch), encoder(batch))


def test_dropout_is_on_words_features_and_vectors():
    encoder = encoder_of(
        features={"case": {"type": "embedding", "embedding_dim": 2, "num_embeddings": 3}},
        encoder={"type": "lstm", "input_size": 9, "hidden_size": 4, "bidirectional": True},
    ).train()
    encoder._dropout.p = 1.0
    read, batch = [], srl_batch([0])
    encoder._encoder.register_forward_pre_hook(lambda _, arguments: read.append(arguments[0]))
    with torch.no_grad():
        vectors = encoder({**batch, "case": batch["predicate"]})
    words, predicate, case = read[0].split([5, 2, 2], dim=-1)
    assert not words.any() and not case.any() and not vectors.any() and predicate.all()


def test_features_beside_the_words():
    reader = TaggingReader(tag_column=None, feature_columns={"pos": 1}, case=True)
    instance = reader.text_to_instance("it Cut it".split(), features={"pos": list("NVN")})
    reader.apply_token_indexers(instance)
    vocab, batch = Vocabulary.from_instances([instance]), Batch([instance])
    batch.index_instances(vocab)
    inputs = batch.as_tensor_dict()
    features = {
        name: {"type": "embedding", "embedding_dim": size, "vocab_namespace": f"{name}_features"}
        for name, size in (("pos", 3), ("case", 2))
    }
    params = {
        "type": "seq2seq",
        "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 5}}},
        "encoder": {"type": "lstm", "input_size": 10, "hidden_size": 4},
        "features": features,
    }
    torch.manual_seed(0)
    encoder = Encoder.from_params(Params(params), vocab=vocab).eval()
    found = encoder(inputs)
    assert found.shape == (1, 3, 4)
    for name in features:
        changed = {**inputs, name: inputs[name].flip(1).roll(1, dims=1)}
        assert not torch.equal(changed[name], inputs[name])
        assert (encoder(changed) - found).abs().max() > 1e-6
    for name, key in (("pos", "dataset_reader.feature_columns"), ("case", "dataset_reader.case")):
        rest = {other: value for other, value in inputs.items() if other != name}
        with pytest.raises(ConfigurationError, match=f"encoder.features: .*'{name}'.*{key}"):
            encoder(rest)


@pytest.mark.parametrize("layers, bidirectional", [(1, False), (1, True), (2, True)])
def test_an_lstm_of_padded_sentences_is_that_of_packed_ones(layers, bidirectional):
    wrapper = PytorchSeq2SeqWrapper(torch.nn.LSTM(3, 4, layers, batch_first=True, bidirectional=bidirectional).double())
    inputs = torch.randn(3, 5, 3, dtype=torch.double, requires_grad=True)
    mask = torch.arange(5) < torch.tensor([[2], [5], [1]])
    weights = torch.randn(3, 5, 4 * (1 + bidirectional), dtype=torch.double)
    packed, padded = wrapper(inputs, mask), lstm_of_padded(wrapper._module, inputs, mask)
    assert torch.allclose(padded, packed) and not padded[~mask].any()
    parts = [inputs, *wrapper.parameters()]
    for found, expected in zip(*(torch.autograd.grad((out * weights).sum(), parts) for out in (padded, packed))):
        assert torch.allclose(found, expected)


def test_the_lstm_of_training_is_that_of_prediction():
    encoder, batch = encoder_of(), srl_batch()
    calls = []
    encoder._encoder.register_forward_hook(lambda *_: calls.append(True))
    training = encoder(batch)
    assert training.requires_grad and not calls
    with torch.no_grad():
        assert torch.allclose(encoder(batch), training) and calls


def test_word_dropout_makes_words_unknown_in_training_alone():
    encoder, batch = encoder_of(word_dropout=0.25), srl_batch()
    ids, mask = batch["tokens"]["tokens"]["tokens"], batch["tokens"]["tokens"]["tokens"] > 0
    before = ids.clone()
    seen = []
    encoder._embedder.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]["tokens"]["tokens"]))
    encoder(batch)
    assert torch.equal(seen.pop(), before)
    encoder.train()
    torch.manual_seed(0)
    for _ in range(200):
        encoder(batch)
    known = mask & (before != 1)
    unknown = torch.stack([(found == 1) & known for found in seen]).float().sum() / (200 * known.sum())
    # Some 4,000 words: a deviation of 0.007.
    assert abs(float(unknown) - 0.25) < 0.03
    assert all(torch.equal(found.masked_fill(found == 1, 0), before.masked_fill(found == 1, 0)) for found in seen)
    assert torch.equal(ids, before)
