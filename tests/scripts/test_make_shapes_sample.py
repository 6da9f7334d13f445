"""The embedded segmentation sample: its script, and the committed files themselves."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch

from seal.dataset_readers.images import read_masked_images
from seal.metrics.mask_score import image_iou, overlap_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "samples" / "make_shapes_sample.py"
DATA = ROOT / "data" / "shapes_sample"
SPLITS = ("train", "valid", "test")
SMALL = ["--train", "4", "--valid", "2", "--test", "3"]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_shapes_sample", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sample():
    return {split: read_masked_images(str(DATA / f"{split}.npz")) for split in SPLITS}


def same(one, other):
    ours, theirs = read_masked_images(str(one)), read_masked_images(str(other))
    return numpy.array_equal(ours.images, theirs.images) and numpy.array_equal(ours.masks, theirs.masks)


def test_a_small_version_is_deterministic(script, tmp_path):
    for name, seed in (("one", "7"), ("other", "8")):
        script.main(["--out", str(tmp_path / name), "--seed", seed, *SMALL])
    # Another process with another hash seed: the order of a set must not show.
    command = [sys.executable, str(SCRIPT), "--out", str(tmp_path / "again"), "--seed", "7", *SMALL]
    environment = {**os.environ, "PYTHONHASHSEED": "2"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    for split in SPLITS:
        file = f"{split}.npz"
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
        assert not same(tmp_path / "one" / file, tmp_path / "other" / file)
    assert len(read_masked_images(str(tmp_path / "one" / "test.npz")).masks) == 3


def test_the_committed_files_are_what_the_script_writes(script, tmp_path, capsys):
    script.main(["--out", str(tmp_path)])
    for split in SPLITS:
        # Values, not bytes: another zlib packs them otherwise.
        assert same(tmp_path / f"{split}.npz", DATA / f"{split}.npz"), f"{split}.npz: run the script again."
    rows = [line.replace(" %", "%").split() for line in capsys.readouterr().out.splitlines()[1:]]
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for row in rows:
        assert "| " + " | ".join(cell.replace("%", " %") for cell in row) + " |" in readme


def test_a_size_below_one_is_refused(script, tmp_path, capsys):
    with pytest.raises(SystemExit):
        script.main(["--out", str(tmp_path), "--valid", "0"])
    assert "--valid must be at least 1." in capsys.readouterr().err


def test_size(sample):
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 300_000
    assert {split: data.images.shape for split, data in sample.items()} == {
        split: (count, 32, 32, 3) for split, count in zip(SPLITS, (60, 20, 40))
    }


def test_every_image_has_a_shape_and_none_comes_twice(sample):
    seen = set()
    for data in sample.values():
        shares = data.masks.reshape(len(data.masks), -1).mean(axis=1)
        assert shares.min() > 0.04 and shares.max() < 0.6
        seen.update(image.tobytes() for image in data.images)
    assert len(seen) == 120


def test_a_shape_is_whole(sample):
    """No row and no column of a convex shape has a gap."""
    for data in sample.values():
        for mask in data.masks:
            for lines in (mask, mask.T):
                starts = (numpy.diff(lines.astype(int), axis=1, prepend=0) == 1).sum(axis=1)
                assert starts.max() == 1


def test_neighbours_say_what_a_pixel_does_not(sample):
    """With the best of all thresholds for each image: warm pixels, and pixels of warm neighbourhoods."""
    data = sample["test"]
    warm = torch.tensor(data.images[..., 0].astype(float) - data.images[..., 2]).unsqueeze(1)
    around = torch.nn.functional.avg_pool2d(warm, 5, stride=1, padding=2, count_include_pad=False)
    gold, found = torch.tensor(data.masks).bool(), []
    for values in (warm, around):
        each = []
        for threshold in range(-120, 130, 10):
            intersection, union = overlap_of(values.squeeze(1) > threshold, gold)
            each.append(image_iou(intersection, union, 1.0))
        found.append(100 * torch.stack(each).amax(dim=0).mean().item())
    readme = " ".join((DATA / "README.md").read_text(encoding="utf-8").split())
    assert f"a mean IoU of {found[0]:.0f} on test, the mean of 5 x 5 pixels of {found[1]:.0f}" in readme
    assert found[0] < 60 and found[1] > found[0] + 4
