import logging

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Vocabulary

from seal.common.length_groups import Size
from seal.tasks.base import predictor as line_predictor
from seal.tasks.base.predictor import check_characters, check_whole_number, check_words, noted_groups
from seal.tasks.base.sentence_pieces import SentencePiecesIndexer
from seal.tasks.base.words import join_words
from seal.tasks.srl.predicates import IndexedSentence, Row, as_tensors
from seal.tasks.srl.reader import SrlReader
from tests.tiny_bert import save_tiny_bert


def test_tensors_are_those_of_the_readers_instances(predictor):
    reader, vocab = predictor._dataset_reader, predictor._model.vocab
    texts = [["She", "left", "."], ["The", "old", "cook", "gave", "up"], ["Rain"]]
    sentences = [IndexedSentence(join_words(words), reader, vocab) for words in texts]
    rows = [(0, 1), (1, 3), (1, None), (2, 0), (1, 4)]
    instances = []
    for place, predicate in rows:
        instances.append(reader.text_to_instance(words=texts[place], predicate=predicate))
        reader.apply_token_indexers(instances[-1])
    batch = Batch(instances)
    batch.index_instances(vocab)
    expected = batch.as_tensor_dict()
    found = as_tensors([Row(sentences[place], predicate) for place, predicate in rows], -1)
    assert found.pop("metadata") == [{"words": texts[place]} for place, _ in rows]
    assert found.keys() == {"tokens", "predicate"}
    assert torch.equal(found["predicate"], expected["predicate"])
    assert found["tokens"].keys() == expected["tokens"].keys() == {"tokens", "characters"}
    for name, tensors in expected["tokens"].items():
        for key, tensor in tensors.items():
            assert torch.equal(found["tokens"][name][key], tensor)


def test_the_size_of_a_sentence_is_that_of_its_pieces(tmp_path):
    folder = str(save_tiny_bert(tmp_path / "bert", ["rain", "fell"]))
    reader = SrlReader(token_indexers={"tokens": SentencePiecesIndexer(folder)})
    size = IndexedSentence(join_words(["rain", "fell", "abcd"]), reader, Vocabulary()).size
    # `a ##b ##c ##d`, beside two words and the marks of beginning and end.
    assert size == (3, 4, 8)


def test_what_is_too_long_is_told_in_a_sentence():
    check_words(["word"] * 10, 10)
    check_characters("x" * line_predictor.MAX_CHARACTERS)
    with pytest.raises(ConfigurationError, match="the sentence has 11 words, and at most 10 are read"):
        check_words(["word"] * 11, 10)
    with pytest.raises(ConfigurationError, match="3 words, the longest of 500,000 characters"):
        check_words(["a", "b", "x" * 500_000], 10)
    with pytest.raises(ConfigurationError, match="has 1,048,577 characters, and at most 1,048,576 are read"):
        check_characters("x" * (line_predictor.MAX_CHARACTERS + 1))
    for wrong in (0, 2.0, True, "3"):
        with pytest.raises(ConfigurationError, match="max_words must be a whole number above 0"):
            check_whole_number("max_words", wrong)


def test_what_takes_long_says_how_far_it_is(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(line_predictor.time, "monotonic", lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for _ in noted_groups([Size(3, 4)] * 10, 2, "frames"):
            now[0] += 6
    # After 12 and 24 seconds; at the end there is nothing to say.
    assert [record.getMessage() for record in caplog.records] == [
        "4 of 10 frames are done after 12 s", "8 of 10 frames are done after 24 s"
    ]  # fmt: skip
    caplog.clear()
    list(noted_groups([Size(3, 4)] * 10, 2, "frames"))
    assert not caplog.records
