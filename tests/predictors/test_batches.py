import torch
from allennlp.data import Batch

from seal.predictors.batches import IndexedSentence, Row, as_tensors
from seal.predictors.words import join_words


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
