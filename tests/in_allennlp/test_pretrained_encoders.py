import os

import pytest
from allennlp.common import Params, cached_transformers
from allennlp.common.checks import ConfigurationError

import seal.plugin  # noqa: F401
from seal.allennlp.pretrained_encoders import note_pieces
from seal.tasks.base.sentence_pieces import ALONE, IN_SENTENCE, SentencePiecesIndexer
from tests.small_tokenizers import save_tokenizer


def config():
    return {
        "dataset_reader": {"token_indexers": {"tokens": {"type": "pretrained_transformer_mismatched"}}},
        "validation_dataset_reader": {"readers": [{"type": "pretrained_transformer_mismatched", "pieces": ALONE}]},
        "model": {"type": "seal_tagging"},
    }


def pieces_of(config):
    found = config["dataset_reader"]["token_indexers"]["tokens"]["pieces"]
    assert config["validation_dataset_reader"]["readers"][0]["pieces"] == ALONE
    return found


def test_training_notes_the_pieces_in_the_config():
    given = config()
    noted = note_pieces(given)
    assert pieces_of(noted) == IN_SENTENCE and given == config() and note_pieces(noted) == noted
    # As AllenNLP gives it.
    assert note_pieces(Params(given).params) == noted


def test_an_encoder_in_the_home_folder(tmp_path, monkeypatch):
    save_tokenizer("wordpiece", True, tmp_path / "bert")
    monkeypatch.setenv("HOME", str(tmp_path))
    name = os.path.join("~", "bert")
    assert SentencePiecesIndexer(name)._allennlp_tokenizer.tokenizer.vocab_size > 5
    assert cached_transformers.get(name, make_copy=False).config.hidden_size == 16


def test_an_encoder_that_is_not_there(tmp_path):
    for load in (cached_transformers.get_tokenizer, lambda name: cached_transformers.get(name, make_copy=False)):
        with pytest.raises(ConfigurationError, match=str(tmp_path)):
            load(str(tmp_path))
        with pytest.raises(ConfigurationError, match="no/such-model"):
            load("no/such-model")
