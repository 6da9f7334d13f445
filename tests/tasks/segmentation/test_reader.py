import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader

from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.segmentation.reader import SegmentationReader, as_input, as_pixels
from tests.segmentation import write_folder, write_npz


def loader(path, batch_size=2, shuffle=False, **settings):
    return TensorLoader(SegmentationReader(**settings), path, batch_size=batch_size, shuffle=shuffle)


def test_tables_and_instances_are_the_same(tmp_path):
    path = write_npz(tmp_path)
    reader = SegmentationReader()
    instances = list(reader.read(path))
    assert [instance["metadata"].metadata["source"] for instance in instances][:2] == [f"{path}:0", f"{path}:1"]
    stock = SimpleDataLoader(instances, batch_size=2, vocab=Vocabulary())
    for ours, theirs in zip(loader(path), stock):
        assert ours["image"].shape == (len(ours["mask"]), 3, 10, 12)
        for name in ("image", "mask"):
            assert torch.equal(ours[name], theirs[name])
    assert len(loader(path)) == 3


def test_inputs_and_back():
    pixels = torch.arange(256, dtype=torch.uint8).view(16, 16, 1).expand(-1, -1, 3)
    inputs = as_input(pixels)
    assert inputs.shape == (3, 16, 16) and inputs.min() == -2 and inputs.max() == 2
    assert torch.equal(as_pixels(inputs), pixels)
    assert torch.equal(SegmentationReader().text_to_instance(pixels.numpy())["image"].tensor, inputs)


def test_crops_are_parts_of_their_image_with_its_mask(tmp_path):
    """Every pixel of the image tells its place, and the mask's is a function of it."""
    y, x = numpy.mgrid[0:10, 0:12]
    images = numpy.stack([numpy.full((10, 12), 7), y, x], axis=-1)[None].repeat(40, axis=0).astype(numpy.uint8)
    masks = ((y * x) % 3 == 1)[None].repeat(40, axis=0).astype(numpy.uint8)
    path = write_npz(tmp_path, images=images, masks=masks)
    torch.manual_seed(0)
    (batch,) = loader(path, batch_size=40, crop=[6, 5], mirror=True)
    pixels = as_pixels(batch["image"]).long()
    assert pixels.shape == (40, 6, 5, 3) and batch["mask"].shape == (40, 6, 5)
    assert torch.equal(batch["mask"].long(), (pixels[..., 1] * pixels[..., 2] % 3 == 1).long())
    assert torch.equal(pixels[:, 1:, :, 1] - pixels[:, :-1, :, 1], torch.ones(40, 5, 5).long())
    steps = pixels[:, 0, 1, 2] - pixels[:, 0, 0, 2]
    assert set(steps.tolist()) == {1, -1}
    tops, lefts = pixels[:, 0, 0, 1], torch.minimum(pixels[:, 0, 0, 2], pixels[:, 0, -1, 2])
    assert set(tops.tolist()) == set(range(5)) and set(lefts.tolist()) == set(range(8))


@pytest.mark.parametrize("settings", [{"crop": 4}, {"mirror": True}])
def test_what_is_drawn_for_an_image_does_not_depend_on_its_batch(tmp_path, settings):
    images = []
    for size in (1, 5):
        torch.manual_seed(0)
        batches = list(loader(write_npz(tmp_path), batch_size=size, **settings))
        images.append(torch.cat([batch["image"] for batch in batches]))
    assert torch.equal(*images)


def test_what_is_drawn_follows_torchs_generator(tmp_path):
    path = write_npz(tmp_path)

    def epoch(seed):
        torch.manual_seed(seed)
        return [batch["image"] for batch in loader(path, shuffle=True, crop=4, mirror=True)]

    one, again, other = epoch(1), epoch(1), epoch(2)
    assert all(torch.equal(a, b) for a, b in zip(one, again))
    assert not all(torch.equal(a, b) for a, b in zip(one, other))
    # Every pass anew; and reading alone leaves the generator where it is.
    state = torch.get_rng_state()
    passes = loader(path, batch_size=5, crop=4)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(next(iter(passes))["image"], next(iter(passes))["image"])


def test_from_a_config_with_a_folder(tmp_path):
    path = write_folder(tmp_path / "d")
    reader = DatasetReader.from_params(Params({"type": "seal_segmentation", "crop": 5, "resize": [6, 7]}))
    data = DataLoader.from_params(Params({"type": "tensors", "batch_size": 3}), reader=reader, data_path=path)
    data.index_with(Vocabulary.from_instances(data.iter_instances()))
    (batch,) = data
    assert batch["image"].shape == (3, 3, 5, 5)


@pytest.mark.parametrize("settings", [{"crop": 4}, {"mirror": True}])
def test_no_scores_are_made_of_what_is_drawn_anew(tmp_path, settings):
    data = loader(write_npz(tmp_path), **settings)
    with torch.no_grad(), pytest.raises(ConfigurationError, match="validation_dataset_reader"):
        next(iter(data))
    with torch.no_grad():
        assert len(list(loader(write_npz(tmp_path), resize=4))) == 3
