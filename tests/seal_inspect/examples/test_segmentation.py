from types import SimpleNamespace

import numpy
import pytest

from seal.tasks.segmentation import SegmentationReader
from seal_inspect.examples import examine
from tests import segmentation


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
    found = examine(SimpleNamespace(model=net, validation_dataset_reader=reader), path, 100)
    net.with_energy = True
    for instance, example in zip(reader.read(path), found.examples):
        energy = net.forward_on_instances([instance])[0]["energy"]
        assert example.energy_of_predicted == pytest.approx(float(energy), abs=1e-3)
        assert example.gold == f"{int(instance['mask'].tensor.sum())} pixels"
    below = [one for one in found.examples if one.energy_of_predicted < one.energy_of_gold]
    assert [one.source for one in found.misjudged(9)] == [one.source for one in found.preferred]
    assert sorted(one.source for one in below) == sorted(one.source for one in found.preferred)
