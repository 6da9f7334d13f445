import pytest
from allennlp.models.archival import load_archive

from seal.tasks.srl import SrlScore
from seal.tasks.tagging import TaggingScore
from seal_inspect.examples import examine
from tests.training.runs import DATA


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
