from types import SimpleNamespace

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models.archival import load_archive

from seal.commands.examples import examine
from seal.commands.findings import NOTHING
from seal.dataset_readers import SegmentationReader, TextMultilabelReader
from seal.metrics import MultilabelScore, SrlScore, TaggingScore
from tests import segmentation
from tests.training.runs import DATA

TEXTS = [("red kite", ["toy"]), ("a blue kite over the sea", ["toy", "water"]), ("sea", ["water"]), ("a sea", [])]


@pytest.fixture
def labelled():
    """An untrained model of labels of texts, as an archive, and its data."""
    from tests.models.test_text_multilabel import SEPARATE, model

    reader = TextMultilabelReader()
    instances = [reader.text_to_instance(text, labels) for text, labels in TEXTS]
    for instance in instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances)
    net = model(vocab, **SEPARATE)
    reader.read = lambda _: iter(instances)
    return SimpleNamespace(model=net, validation_dataset_reader=reader), instances


def test_the_loss_and_energies_of_frames(small_run):
    archive = load_archive(small_run("nce") / "model.tar.gz")
    found = examine(archive, str(DATA), 100)
    assert len(found.examples) == 5 and len(found.hits[0]) == 5
    instances = list(archive.validation_dataset_reader.read(str(DATA)))
    frames = [one for one in instances if one["metadata"].metadata["predicate"] is not None]
    for instance, example in zip(frames, found.examples):
        alone = archive.model.forward_on_instances([instance])[0]
        # A frame has no loss of its finder.
        assert example.loss == pytest.approx(float(alone["loss"]), abs=1e-4)
        archive.model.with_energy = True
        energy = archive.model.forward_on_instances([instance])[0]["energy"]
        archive.model.with_energy = False
        assert example.energy_of_predicted == pytest.approx(float(energy), abs=1e-4)
        assert "[V " in example.gold
        assert example.source == instance["metadata"].metadata["source"]
    assert [example.loss for example in found.hardest(2)] == sorted((e.loss for e in found.examples), reverse=True)[:2]


def test_only_the_first_instances_are_looked_at(small_run):
    archive = load_archive(small_run("cross_entropy") / "model.tar.gz")
    found = examine(archive, str(DATA), 1)
    assert len(found.examples) <= 1
    assert all(one.energy_of_gold is None for one in examine(archive, str(DATA), 100).examples)


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


def test_scores_of_roles_without_a_run_that_has_counted_them(small_run):
    archive = load_archive(small_run("nce") / "model.tar.gz")
    found = examine(archive, str(DATA), 100)
    assert found.unit == "role"
    score = SrlScore(by_role=True)
    for instance in archive.validation_dataset_reader.read(str(DATA)):
        if instance["metadata"].metadata["predicate"] is not None:
            output = archive.model.forward_on_instances([instance])[0]
            score([output["tags"][: len(instance["tokens"])]], [instance["metadata"].metadata["tags"]])
    wanted = {key.removeprefix("f1-"): value for key, value in score.get_metric().items() if key.startswith("f1-")}
    assert wanted and {role: one.f1 for role, one in found.by_label().items()} == pytest.approx(wanted)


def test_scores_of_entity_types(tagger, tagged):
    archive = load_archive(tagger("tagging_cross_entropy", epochs=4))
    found = examine(archive, str(tagged), 100)
    assert found.unit == "entity type"
    score = TaggingScore(by_label=True)
    for instance in archive.validation_dataset_reader.read(str(tagged)):
        output = archive.model.forward_on_instances([instance])[0]
        score([output["tags"]], [instance["metadata"].metadata["tags"]])
    wanted = {key.removeprefix("f1-"): value for key, value in score.get_metric().items() if key.startswith("f1-")}
    assert any(wanted.values()) and {name: one.f1 for name, one in found.by_label().items()} == pytest.approx(wanted)


def test_a_gold_label_that_training_never_had_is_missed(labelled):
    archive, instances = labelled
    before = examine(archive, "texts", 100)
    instances[0]["metadata"].metadata["labels"].append("sky")
    found = examine(archive, "texts", 100)
    assert found.by_label()["sky"] == (1, 0, 0) and found.confusions["sky", NOTHING] == 1
    assert found.examples[0].gold == "toy, sky" and found.counts[0]["gold"] == 2
    assert found.examples[0].loss is None and not found.examples[0].right
    assert max(found.f1_at.values()) < max(before.f1_at.values())


def test_masks(tmp_path):
    net = segmentation.model(task_net=segmentation.TASK_NET, size=[10, 12]).float()
    path = segmentation.write_npz(tmp_path)
    found = examine(SimpleNamespace(model=net, validation_dataset_reader=SegmentationReader()), path, 3)
    original = segmentation.arrays()
    assert len(found.pictures) == 3
    assert [one.iou for one in found.pictures] == sorted(one.iou for one in found.pictures)
    worst = found.pictures[0]
    row = int(worst.source.rpartition(":")[2])
    numpy.testing.assert_allclose(worst.image, original["images"][row] / 255, atol=0.01)
    assert (worst.gold == original["masks"][row]).all()
    union = (worst.gold | worst.predicted).sum()
    assert worst.iou == pytest.approx(100 * (worst.gold & worst.predicted).sum() / union)
    assert worst.energy_of_gold is None and not found.preferred


@pytest.mark.parametrize("size", [[10, 12], 8])
def test_masks_that_the_loss_net_prefers_to_gold(size, tmp_path):
    parts = {
        "loss_net": segmentation.LOSS_NET,
        "sampler": {"type": "discrete", "num_samples": 4},
        "energy_loss": {"type": "ranking"},
    }
    net = segmentation.model(**parts, task_net=segmentation.TASK_NET, size=size).float()
    path = segmentation.write_npz(tmp_path)
    reader = SegmentationReader()
    found = examine(SimpleNamespace(model=net, validation_dataset_reader=reader), path, 3)
    net.with_energy = True
    for instance, example in zip(reader.read(path), found.examples):
        energy = net.forward_on_instances([instance])[0]["energy"]
        assert example.energy_of_predicted == pytest.approx(float(energy), abs=1e-3)
        assert example.gold == f"{int(instance['mask'].tensor.sum())} pixels"
    below = [one for one in found.examples if one.energy_of_predicted < one.energy_of_gold]
    assert [one.source for one in found.misjudged(9)] == [one.source for one in found.preferred]
    assert sorted(one.source for one in below) == sorted(one.source for one in found.preferred)


def test_data_without_gold_are_refused(labelled):
    archive, instances = labelled
    for instance in instances:
        del instance.fields["labels"]
    with pytest.raises(ConfigurationError, match="no gold"):
        examine(archive, "texts", 100)


def test_a_model_of_others_is_refused():
    archive = SimpleNamespace(model=torch.nn.Linear(1, 1), validation_dataset_reader=None)
    with pytest.raises(ConfigurationError, match="not Linear"):
        examine(archive, "data", 1)
