import pytest
import torch
from allennlp.data import Batch

from seal.predictors import batches as batches_module
from seal.predictors.batches import IndexedSentence, Row, as_tensors, batches
from seal.predictors.words import join_words


class Sized:
    def __init__(self, num_words, longest_word=5):
        self.num_words = num_words
        self.longest_word = longest_word


@pytest.mark.parametrize("most_rows", [1, 3, 7, 100])
def test_each_row_is_in_one_batch_with_rows_of_like_length(most_rows):
    lengths = [int(n) for n in torch.randint(1, 40, (29,), generator=torch.Generator().manual_seed(0))]
    made = list(batches([Row(Sized(n)) for n in lengths], most_rows))
    assert sorted(place for batch in made for place in batch) == list(range(29))
    assert len(made) == -(-29 // most_rows)
    assert [lengths[place] for batch in made for place in batch] == sorted(lengths)


def test_a_batch_is_bounded_in_characters(monkeypatch):
    monkeypatch.setattr(batches_module, "_MOST_CHARACTERS", 100)
    sizes = [(2, 5), (2, 5), (2, 5), (10, 5), (10, 5), (10, 6), (50, 9), (3, 90)]
    made = list(batches([Row(Sized(*size)) for size in sizes], 64))
    assert sorted(place for batch in made for place in batch) == list(range(len(sizes)))
    for batch in made:
        words, characters = zip(*(sizes[place] for place in batch))
        assert len(batch) == 1 or len(batch) * max(words) * max(characters) <= 100
    assert [3, 4] in made


def test_no_rows_make_no_batch():
    assert list(batches([], 64)) == []


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
    assert found.keys() == {"tokens", "predicate"}
    assert torch.equal(found["predicate"], expected["predicate"])
    assert found["tokens"].keys() == expected["tokens"].keys() == {"tokens", "characters"}
    for name, tensors in expected["tokens"].items():
        for key, tensor in tensors.items():
            assert torch.equal(found["tokens"][name][key], tensor)
