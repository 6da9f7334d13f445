import pytest
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model

from seal.tasks.tagging.predictor import TaggingPredictor
from seal.tasks.tagging.reader import TaggingReader

WORDS, TAGS = "Rose sells ginger !".split(), "B-SEL O B-ITM O".split()


def predictor_of(tags=TAGS, reader=None, loss_net=False, notation=None, encoding="auto", **settings):
    """A predictor whose model has fixed weights for the four words: a word's embedding encodes its tag."""
    reader = reader or TaggingReader()
    if tags is TAGS and notation is None:
        notation = "BIO B-X I-X O"
    features = dict.fromkeys(reader.feature_names, WORDS)
    instance = reader.text_to_instance(WORDS, tags, features, notation=notation)
    reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances([instance])
    encoder = {
        "type": "seq2seq",
        "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 8}}},
        "encoder": {"type": "pass_through", "input_dim": 8},
    }
    params = {
        "type": "seal_tagging",
        "output_space": {"type": "tag_sequence", "encoding": encoding},
        "task_net": {"encoder": encoder},
    }
    if loss_net:
        params["loss_net"] = {"energies": [{"type": "local"}, {"type": "linear_chain"}]}
        params.update(sampler={"type": "discrete"}, energy_loss={"type": "nce_ranking"})
    torch.manual_seed(0)
    model = Model.from_params(Params(params), vocab=vocab)
    with torch.no_grad():
        table = model.task_net.encoder._embedder.token_embedder_tokens.weight
        table.zero_()
        model.task_net._head.weight.copy_(10 * torch.eye(vocab.get_vocab_size("tags"), 8))
        for word, tag in zip(WORDS, tags):
            table[vocab.get_token_index(word), vocab.get_token_index(tag, "tags")] = 1
    return TaggingPredictor(model, reader, **settings)


def test_rounding_makes_no_probability_larger_than_1():
    made = predictor_of()
    run = made._model.forward_on_instances
    made._model.forward_on_instances = lambda batch: [{**output, "log_prob": 1e-6} for output in run(batch)]
    assert made.predict("Rose sells ginger!")["probability"] == 1


def test_a_sentence():
    record = predictor_of().predict("Rose sells  ginger!")
    assert record["words"] == WORDS and record["offsets"] == [[0, 4], [5, 10], [12, 18], [18, 19]]
    assert record["tags"] == TAGS
    assert record["spans"] == [
        {"label": "SEL", "start": 0, "end": 0, "text": "Rose"},
        {"label": "ITM", "start": 2, "end": 2, "text": "ginger"},
    ]
    assert record["description"] == "[SEL Rose] sells [ITM ginger] !"
    assert 0.9 < record["probability"] <= 1 and "energy" not in record


@pytest.mark.parametrize(
    "notation, tags",
    [
        ("IOB1 B-X I-X O", "I-SEL O I-ITM O"),
        ("BIO X_b X_i -", "SEL_b - ITM_b -"),
        ("BIOES B-X M-X E-X W-X O", "W-SEL O W-ITM O"),
    ],
)
def test_tags_are_written_as_the_training_data_write_them(notation, tags):
    record = predictor_of(notation=notation).predict("Rose sells ginger!")
    assert record["tags"] == tags.split()
    assert record["description"] == "[SEL Rose] sells [ITM ginger] !"


def test_words_and_white_space():
    expected = predictor_of().predict_json({"words": WORDS})
    assert expected["offsets"] == [[0, 4], [5, 10], [11, 17], [18, 19]]
    predictor = predictor_of(tokenizer="white_space")
    record = predictor.predict(" Rose sells ginger!  sells ")
    assert record["words"] == ["Rose", "sells", "ginger!", "sells"]
    assert record["offsets"] == [[1, 5], [6, 11], [12, 19], [21, 26]]
    assert predictor.predict("Rose sells ginger !") == expected


def test_raw_text_is_split_as_the_reader_says():
    reader = TaggingReader(tokenizer="tweets")
    assert predictor_of(reader=reader).predict("Rose #sells!")["words"] == ["Rose", "#sells", "!"]
    record = predictor_of(reader=reader, tokenizer="english").predict("Rose #sells!")
    assert record["words"] == ["Rose", "#", "sells", "!"]


def test_feature_columns():
    predictor = predictor_of(reader=TaggingReader(feature_columns={"pos": 1}))
    words = {"words": ["Rose", "sells"]}
    assert predictor.predict_json({**words, "features": {"pos": ["N", "V"]}})["tags"] == ["B-SEL", "O"]
    record = predictor_of().predict_json({**words, "features": {}})
    assert record["tags"] == ["B-SEL", "O"]
