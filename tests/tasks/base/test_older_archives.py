"""Archives of an older version open, and predict what they predicted."""

import json
from itertools import islice
from pathlib import Path

import numpy
import pytest
from allennlp.models.archival import load_archive

import seal.plugin  # noqa: F401

ROOT = Path(__file__).parents[3]
ARCHIVES = ROOT / "tests" / "fixtures" / "archives"
EXPECTED = json.loads((ARCHIVES / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_older_archive_predicts_as_before(name):
    archive = load_archive(ARCHIVES / f"{name}.tar.gz")
    model = archive.model.eval()
    model.with_energy = model.loss_net is not None
    instances = islice(archive.validation_dataset_reader.read(str(ROOT / "data" / EXPECTED[name]["data"])), 2)
    outputs = model.forward_on_instances(list(instances))
    assert len(outputs) == len(EXPECTED[name]["outputs"])
    for found, expected in zip(outputs, EXPECTED[name]["outputs"]):
        for key, value in expected.items():
            if isinstance(value[0], float):
                # The first 200 numbers were kept, with five digits.
                numbers = numpy.ravel(found[key])[:200]
                assert numbers.tolist() == pytest.approx(value, rel=1e-4, abs=1e-6), key
            else:
                assert found[key] == value, key


def test_there_is_an_archive_of_each_kind_and_all_are_tried():
    assert {path.name.partition(".")[0] for path in ARCHIVES.glob("*.tar.gz")} == set(EXPECTED)
    energies = [output for case in EXPECTED.values() for output in case["outputs"] if "energy" in output]
    assert len(energies) == 2 * (len(EXPECTED) - 1)  # All but that of a CRF.
