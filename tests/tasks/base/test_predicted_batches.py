import torch
from allennlp.data import Batch, Vocabulary

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
