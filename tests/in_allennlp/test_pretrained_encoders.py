import os

import pytest
from allennlp.common import cached_transformers
from allennlp.common.checks import ConfigurationError

import seal.plugin  # noqa: F401
from seal.tasks.base.sentence_pieces import SentencePiecesIndexer
from tests.small_tokenizers import save_tokenizer


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
