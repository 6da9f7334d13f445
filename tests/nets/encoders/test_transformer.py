import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Token, Vocabulary
from allennlp.data.fields import SequenceLabelField, TextField
from allennlp.data.instance import Instance
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from seal.nets.encoders import TextTransformer, TransformerWordEncoder

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] a b the chef cut ##ting ##s was it slow ##ly".split()
SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, pad_token_id=0)


def save_model(folder, model):
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(PIECES), max_position_embeddings=512, initializer_range=0.5, **SIZES)
    return save_model(tmp_path_factory.mktemp("models") / "bert", BertModel(config))


def inputs_of(model_name, sentences, predicates, max_length=512):
    instances = []
    for words, predicate in zip(sentences, predicates):
        indexer = PretrainedTransformerMismatchedIndexer(model_name, max_length=max_length)
        tokens = TextField([Token(word) for word in words], {"tokens": indexer})
        marks = SequenceLabelField([int(i == predicate) for i in range(len(words))], tokens)
        instances.append(Instance({"tokens": tokens, "predicate": marks}))
    batch = Batch(instances)
    batch.index_instances(Vocabulary())
    return batch.as_tensor_dict()


def spy(encoder):
    """What the transformer itself is given, call by call."""
    calls = []
    transformer = encoder._embedder._matched_embedder.transformer_model
    transformer.register_forward_pre_hook(lambda module, args, kwargs: calls.append(kwargs), with_kwargs=True)
    return calls


def marked_pieces(call):
    """Row by row: the wordpieces of token type 1."""
    types = call.get("token_type_ids")
    if types is None:
        types = torch.zeros_like(call["input_ids"])
    assert set(types.unique().tolist()) <= {0, 1}
    return [
        [PIECES[piece] for piece, mark in zip(row, marks) if mark]
        for row, marks in zip(call["input_ids"].tolist(), types.tolist())
    ]


WORDS = "the chefs cutting it was slowly".split()


def test_token_types_mark_the_predicate(bert):
    encoder = TransformerWordEncoder(bert).eval()
    calls = spy(encoder)
    expected = [["the"], ["chef", "##s"], ["cut", "##ting"], ["it"], ["was"], ["slow", "##ly"]]
    found = encoder(inputs_of(bert, [WORDS] * 7, [*range(6), None]))
    assert found.shape == (7, 6, 16) and encoder.get_output_dim() == 16
    assert marked_pieces(calls[0]) == [*expected, []]
    # Each predicate gives other vectors, also to words that are not the predicate.
    for i in range(7):
        for j in range(i):
            assert ((found[i] - found[j]).abs().amax(dim=-1) > 1e-4).all()


def test_vectors_are_those_of_first_pieces(bert):
    encoder = TransformerWordEncoder(bert).eval()
    found = encoder(inputs_of(bert, [WORDS], [2]))
    pieces = "[CLS] the chef ##s cut ##ting it was slow ##ly [SEP]".split()
    ids = torch.tensor([[PIECES.index(piece) for piece in pieces]])
    types = torch.tensor([[int(piece in ("cut", "##ting")) for piece in pieces]])
    hidden = BertModel.from_pretrained(bert).eval()(ids, token_type_ids=types).last_hidden_state[0]
    assert torch.allclose(found[0], hidden[[1, 2, 4, 6, 7, 8]], atol=1e-5)


def test_without_a_predicate(bert):
    encoder = TransformerWordEncoder(bert).eval()
    inputs = inputs_of(bert, [WORDS], [None])
    unmarked = encoder(inputs)
    del inputs["predicate"]
    assert torch.equal(encoder(inputs), unmarked)


def test_windows(bert):
    """11 windows of at most 8 pieces with [CLS] and [SEP]; a multi-piece word stands on a border."""
    encoder = TransformerWordEncoder(bert, max_length=8).eval()
    words = WORDS * 7
    pieces = "the chef ##s cut ##ting it was slow ##ly".split() * 7
    assert pieces[5:6] == ["it"] and len(pieces) == 63
    calls = spy(encoder)
    found = encoder(inputs_of(bert, [words] * len(words), range(len(words)), max_length=8))
    windows = [pieces[i : i + 6] for i in range(0, 63, 6)]
    bare = BertModel.from_pretrained(bert).eval()
    first_piece, piece_counts = [0, 1, 3, 5, 6, 7], [1, 2, 2, 1, 1, 2]
    marks = marked_pieces(calls[0])
    for row in range(len(words)):
        start = 9 * (row // 6) + first_piece[row % 6]
        predicate = range(start, start + piece_counts[row % 6])
        vectors = []
        for number, window in enumerate(windows):
            ids = [PIECES.index(piece) for piece in ["[CLS]", *window, "[SEP]"]]
            types = [0] + [int(6 * number + i in predicate) for i in range(len(window))] + [0]
            assert marks[row * len(windows) + number] == [PIECES[i] for i, mark in zip(ids, types) if mark]
            output = bare(torch.tensor([ids]), token_type_ids=torch.tensor([types])).last_hidden_state[0]
            vectors += list(output[1:-1])
        for word in range(len(words)):
            vector = vectors[9 * (word // 6) + first_piece[word % 6]]
            assert torch.allclose(found[row, word], vector, atol=1e-4)


def test_windows_of_all_positions_and_none_longer(tmp_path):
    # RoBERTa's position 0 is that of padding.
    config = RobertaConfig(vocab_size=len(PIECES), max_position_embeddings=9, type_vocab_size=1, **SIZES)
    name = save_model(tmp_path / "small", RobertaModel(config))
    for given, found in (({}, 512), ({"max_length": 9}, 9)):
        with pytest.raises(ConfigurationError, match=f"encoder.max_length: {found} .*8"):
            TransformerWordEncoder(name, **given)
    found = TransformerWordEncoder(name, max_length=8)(inputs_of(name, [WORDS * 7], [0], max_length=8))
    assert found.shape == (1, 42, 16)


@pytest.mark.parametrize("max_length", [64, 8])
def test_padding_changes_nothing(bert, max_length):
    encoder = TransformerWordEncoder(bert, max_length=max_length).eval()
    sentences = [WORDS, ["it"], WORDS * 3, WORDS[:4], (WORDS * 2)[:8]]
    predicates = [1, 0, 14, None, 7]
    together = encoder(inputs_of(bert, sentences, predicates, max_length))
    for i, (words, predicate) in enumerate(zip(sentences, predicates)):
        alone = encoder(inputs_of(bert, [words], [predicate], max_length))
        assert alone.shape[1] == len(words) and alone.abs().amax(dim=-1).min() > 0.1
        assert torch.allclose(together[i, : len(words)], alone[0], atol=1e-5)


def test_a_word_without_pieces_marks_nothing(bert):
    encoder = TransformerWordEncoder(bert, max_length=8).eval()
    calls = spy(encoder)
    words = ["the", "\u200b", "chef", "cut", "it", "was", "slow", "it"]
    inputs = inputs_of(bert, [words], [1], max_length=8)
    assert (-1 in inputs["tokens"]["tokens"]["offsets"][0, 1]) and torch.isfinite(encoder(inputs)).all()
    assert marked_pieces(calls[0]) == [[], []]


def test_one_token_type_becomes_two(tmp_path):
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=len(PIECES), max_position_embeddings=513, type_vocab_size=1, **SIZES)
    name = save_model(tmp_path / "roberta", RobertaModel(config))
    encoder = TransformerWordEncoder(name).eval()
    calls = spy(encoder)
    found = encoder(inputs_of(name, [WORDS] * 2, [2, None]))
    assert marked_pieces(calls[0]) == [["cut", "##ting"], []]
    assert (found[0, 2] - found[1, 2]).abs().max() > 1e-4
    # Where nothing is marked it is the model it was.
    bare = RobertaModel.from_pretrained(name).eval()
    ids = calls[0]["input_ids"][1:]
    assert torch.allclose(bare(ids).last_hidden_state[0, 1], found[1, 0], atol=1e-5)
    found[0, :, 0].sum().backward()
    types = encoder._embedder._matched_embedder.transformer_model.embeddings.token_type_embeddings.weight
    assert types.shape[0] == 2 and types.grad[1].abs().max() > 0
    # A second encoder of the same model does not find the first one's.
    assert RobertaModel.from_pretrained(name).embeddings.token_type_embeddings.num_embeddings == 1
    frozen = TransformerWordEncoder(name, train_parameters=False)
    assert not any(parameter.requires_grad for parameter in frozen.parameters())


def test_a_frozen_one_has_no_dropout_and_checkpoints_are_set(bert):
    inputs = inputs_of(bert, [["a", "b"]], [[1, 0]])
    frozen, trained = TransformerWordEncoder(bert, train_parameters=False), TransformerWordEncoder(bert)
    assert torch.equal(frozen.train()(inputs), frozen(inputs))
    assert torch.equal(frozen(inputs), trained.eval()(inputs))
    assert not torch.equal(frozen(inputs), trained.train()(inputs))
    for wanted in (None, False, True):
        encoder = TransformerWordEncoder(bert, gradient_checkpointing=wanted)
        assert encoder._embedder._matched_embedder.transformer_model.is_gradient_checkpointing is bool(wanted)


@pytest.mark.parametrize("kind", [TransformerWordEncoder, TextTransformer])
def test_bfloat16_is_for_prediction_alone(bert, kind):
    inputs = inputs_of(bert, [["the", "chef", "cuts"]], [2])
    if kind is TextTransformer:
        ids = torch.randint(5, len(PIECES), (3, 6))
        inputs = {"tokens": {"tokens": {"token_ids": ids, "mask": torch.ones_like(ids).bool()}}}
    plain, half = kind(bert), kind(bert, bfloat16_prediction=True)
    half.load_state_dict(plain.state_dict())
    expected, found = plain.eval()(inputs), half.eval()(inputs)
    assert found.dtype == torch.float32
    # As far apart as eight bits of a fraction make it, and not equal.
    assert 0 < (found - expected).abs().max() < 0.05 * expected.abs().max()
    trained = []
    for net in (plain, half):
        torch.manual_seed(0)
        trained.append(net.train()(inputs))
    assert torch.equal(*trained)


def test_a_transformer_without_gradient_checkpointing(tmp_path):
    config = MPNetConfig(vocab_size=len(PIECES), max_position_embeddings=514, **{**SIZES, "pad_token_id": 1})
    name = save_model(tmp_path / "mpnet", MPNetModel(config))
    for kind in (TransformerWordEncoder, TextTransformer):
        with pytest.raises(ConfigurationError, match="encoder.gradient_checkpointing: MPNetModel"):
            kind(name, gradient_checkpointing=True)
    assert TextTransformer(name, gradient_checkpointing=False).get_output_dim() == 16


def test_no_token_types(tmp_path):
    config = DistilBertConfig(vocab_size=len(PIECES), dim=16, hidden_dim=24, n_layers=1, n_heads=2)
    name = save_model(tmp_path / "distilbert", DistilBertModel(config))
    with pytest.raises(ConfigurationError, match="encoder.model_name: '.*distilbert'"):
        TransformerWordEncoder(name)
    # Nor are any needed where there is no predicate.
    encoder = TransformerWordEncoder(name, marks_predicate=False).eval()
    inputs = inputs_of(name, [WORDS], [1])
    with pytest.raises(ConfigurationError, match="encoder.marks_predicate"):
        encoder(inputs)
    del inputs["predicate"]
    assert encoder(inputs).shape == (1, len(WORDS), 16)


@pytest.mark.parametrize("name", ["no/such-model", "./no-such-folder", "no-such-model"])
def test_a_wrong_name(name):
    with pytest.raises(ConfigurationError) as error:
        TransformerWordEncoder(name)
    message = str(error.value)
    assert f"'{name}'" in message and "\n" not in message
