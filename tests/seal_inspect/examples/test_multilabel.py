from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.tasks.multilabel import MultilabelScore
from seal.tasks.text import TextMultilabelReader
from seal_inspect.examples import examine
from seal_inspect.findings import NOTHING

TEXTS = [("red kite", ["toy"]), ("a blue kite over the sea", ["toy", "water"]), ("sea", ["water"]), ("a sea", [])]


@pytest.fixture
def labelled():
    """An untrained model of labels of texts, as an archive, and its data."""
    from tests.tasks.text.test_model import SEPARATE, model

    reader = TextMultilabelReader()
    instances = [reader.text_to_instance(text, labels) for text, labels in TEXTS]
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    net = model(vocab, **SEPARATE)
    reader.read = lambda _: iter(instances)
    return SimpleNamespace(model=net, validation_dataset_reader=reader), instances


def test_labels_that_are_missed_or_too_many(labelled):
    archive, instances = labelled
    found = examine(archive, "texts", 100)
    output = archive.model.forward_on_instances(instances)
    names = archive.model.output_space.labels
    expected = {}
    for (text, gold), row in zip(TEXTS, output):
        for name, predicted in zip(names, row["predicted"]):
            if predicted != (name in gold):
                pair = (NOTHING, name) if predicted else (name, NOTHING)
                expected[pair] = expected.get(pair, 0) + 1
    assert dict(found.confusions) == expected
    assert [example.text for example in found.examples] == [text for text, _ in TEXTS]
    # The curve of thresholds at 0.5 is the metric.
    score = MultilabelScore()
    gold = torch.tensor([[float(name in labels) for name in names] for _, labels in TEXTS])
    score(torch.tensor(numpy.stack([row["probabilities"] for row in output])), gold)
    assert found.f1_at[0.5] == pytest.approx(score.get_metric(reset=True)["f1"])


def test_a_gold_label_that_training_never_had_is_missed(labelled):
    archive, instances = labelled
    before = examine(archive, "texts", 100)
    instances[0]["metadata"].metadata["labels"].append("sky")
    found = examine(archive, "texts", 100)
    assert found.by_label()["sky"] == (1, 0, 0) and found.confusions["sky", NOTHING] == 1
    assert found.examples[0].gold == "toy, sky" and found.counts[0]["gold"] == 2
    assert found.examples[0].loss is None and not found.examples[0].right
    assert max(found.f1_at.values()) < max(before.f1_at.values())


def test_data_without_gold_are_refused(labelled):
    archive, instances = labelled
    for instance in instances:
        del instance.fields["labels"]
    with pytest.raises(ConfigurationError, match="no gold"):
        examine(archive, "texts", 100)
