import json
import os

import pytest
from allennlp.common import Params, cached_transformers
from allennlp.common.checks import ConfigurationError

import seal  # noqa: F401
from seal.allennlp.pretrained_encoders import note_pieces
from seal.dataset_readers.sentence_pieces import ALONE, IN_SENTENCE, SentencePiecesIndexer
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


@pytest.mark.parametrize("recover", [False, True])
def test_training_notes_the_pieces_in_the_config(tmp_path, recover):
    noted = note_pieces(config(), str(tmp_path), recover)
    assert pieces_of(noted) == IN_SENTENCE
    # Continued with the same config, it stays what it is.
    Params(noted).to_file(str(tmp_path / "config.json"))
    assert note_pieces(config(), str(tmp_path), recover) == noted


def test_a_run_of_before_is_continued_as_it_was(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config()))
    noted = note_pieces(config(), str(tmp_path), recover=True)
    assert pieces_of(noted) == pieces_of(json.loads(path.read_text())) == ALONE


def test_an_encoder_in_the_home_folder(tmp_path, monkeypatch):
    save_tokenizer("wordpiece", True, tmp_path / "bert")
    monkeypatch.setenv("HOME", str(tmp_path))
    name = os.path.join("~", "bert")
    assert SentencePiecesIndexer(name)._allennlp_tokenizer.tokenizer.vocab_size > 5
    assert cached_transformers.get(name, make_copy=False).config.hidden_size == 16


def test_an_encoder_that_is_not_there(tmp_path):
    for load in (cached_transformers.get_tokenizer, lambda name: cached_transformers.get(name, make_copy=False)):
        with pytest.raises(ConfigurationError, match=rf"^Unrecognized model in {tmp_path}\.[^\n]*config\.json\.$"):
            load(str(tmp_path))
        with pytest.raises(ConfigurationError, match="no/such-model"):
            load("no/such-model")
