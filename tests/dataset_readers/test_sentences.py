from typing import NamedTuple, Tuple

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.data.dataset_readers import WorkerInfo
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import Token

from seal.dataset_readers.sentences import SentenceReader


class Sentence(NamedTuple):
    words: Tuple[str, ...]


def of_lengths(*lengths):
    return [Sentence(("w",) * length) for length in lengths]


def test_long_sentences_are_left_out_and_counted(caplog):
    reader = SentenceReader(max_words=2)
    assert list(reader._short_enough("a.txt", iter(of_lengths(1, 3, 2, 9)))) == of_lengths(1, 2)
    assert "a.txt: skipped 2 sentences of over 2 words" in caplog.text


def test_without_a_limit_all_stay(caplog):
    assert list(SentenceReader()._short_enough("a.txt", of_lengths(1, 300))) == of_lengths(1, 300)
    assert list(SentenceReader(max_words=2)._short_enough("a.txt", [])) == []
    assert not caplog.text


def test_one_sentence_must_be_left():
    with pytest.raises(ConfigurationError, match="a.txt: each of its 2 sentences has over 2 words; raise"):
        list(SentenceReader(max_words=2)._short_enough("a.txt", of_lengths(3, 4)))


def test_a_limit_below_1():
    with pytest.raises(ConfigurationError, match="dataset_reader.max_words must be at least 1, found 0"):
        SentenceReader(max_words=0)


def test_workers_share_what_there_is():
    shares = []
    for worker in range(3):
        reader = SentenceReader()
        reader._set_worker_info(WorkerInfo(3, worker))
        shares.append(list(reader._shard(range(10))))
    assert shares == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


def test_indexers_come_to_an_instance_at_the_end():
    indexers = {"tokens": SingleIdTokenIndexer(), "letters": SingleIdTokenIndexer(namespace="letters")}
    instance = Instance({"tokens": TextField([Token("a")])})
    SentenceReader(indexers).apply_token_indexers(instance)
    assert instance["tokens"].token_indexers is indexers
