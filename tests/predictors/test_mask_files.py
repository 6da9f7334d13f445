import os
from pathlib import Path

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from PIL import Image

from seal.predictors.mask_files import MaskFiles, file_and_row
from tests.segmentation import arrays

PIXELS = arrays()["images"][2]
MASK = PIXELS[..., 0] > 128


def write(files, *images):
    return [Path(files.write(image, PIXELS, MASK)["mask_file"]).name for image in images]


def test_the_mask_and_the_overlay_have_the_images_size(tmp_path):
    before = PIXELS.copy()
    paths = MaskFiles(str(tmp_path / "new" / "out")).write("data/horse.png", PIXELS, MASK)
    assert paths == {
        f"{what}_file": os.path.join(tmp_path, "new", "out", f"horse.{what}.png") for what in ("mask", "overlay")
    }
    assert 0 < MASK.mean() < 1 and numpy.array_equal(PIXELS, before)
    assert numpy.array_equal(numpy.asarray(Image.open(paths["mask_file"])), MASK * 255)
    overlay = numpy.asarray(Image.open(paths["overlay_file"]))
    assert numpy.array_equal(overlay[~MASK], PIXELS[~MASK])
    red = (PIXELS[MASK].astype(float) + [255, 0, 80]) / 2
    assert numpy.array_equal(overlay[MASK], red.astype(numpy.uint8))


def test_rows_of_an_archive_and_names_that_come_twice(tmp_path):
    found = write(MaskFiles(str(tmp_path)), "data.npz:3", "data.npz:0", "data.npz:3")
    assert found == ["data_3.mask.png", "data_0.mask.png", "data_3.2.mask.png"]


def test_a_second_run_replaces_the_files_of_the_same_image_alone(tmp_path):
    def run(*images):
        return write(MaskFiles(str(tmp_path)), *images)

    assert run("a/p\u00e9.png") == ["p\u00e9.mask.png"]
    first = (tmp_path / "p\u00e9.mask.png").read_bytes()
    for _ in range(2):
        assert run("b/p\u00e9.png") == ["p\u00e9.2.mask.png"]
    assert run("b/p\u00e9.png", "a/p\u00e9.png") == ["p\u00e9.2.mask.png", "p\u00e9.mask.png"]
    assert (tmp_path / "p\u00e9.mask.png").read_bytes() == first
    (tmp_path / "p\u00e9.mask.png").write_text("mine")
    assert run("a/p\u00e9.png") == ["p\u00e9.3.mask.png"] and (tmp_path / "p\u00e9.mask.png").read_text() == "mine"


@pytest.mark.parametrize(
    "start, character, given, kept", [("", "ä", 120, 100), ("x", "ä", 110, 99), ("", "馬", 80, 66)]
)
def test_a_name_too_long_for_more_is_cut_between_characters(tmp_path, start, character, given, kept):
    (name,) = write(MaskFiles(str(tmp_path)), f"{start}{character * given}.png")
    assert name == f"{start}{character * kept}.mask.png"


def test_a_name_that_is_anothers_with_a_number_is_not_written_over(tmp_path):
    found = write(MaskFiles(str(tmp_path)), "p.png", "other/p.png", "p.2.png", "p.2.jpg", "more/p.png")
    assert found == [f"{name}.mask.png" for name in ("p", "p.2", "p.2.2", "p.2.3", "p.3")]
    assert len(list(tmp_path.iterdir())) == 2 * len(found)


def test_an_image_in_the_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for folder, path in ((".", "p.png"), (str(tmp_path), "p.png"), ("out", f"{tmp_path}/out/p.png")):
        with pytest.raises(ConfigurationError, match="p.png: it lies in the folder for masks and overlays"):
            MaskFiles(folder).check_elsewhere(path)
    for folder, path in (("out", "p.png"), ("new", "p.png"), ("out", "none/p.png")):
        MaskFiles(folder).check_elsewhere(path)


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    for folder, message in ((3, "found 3"), ("", "found ''"), (str(tmp_path / "file"), "file is a file")):
        with pytest.raises(ConfigurationError, match=f"^folder.*{message}"):
            MaskFiles(folder)


@pytest.mark.parametrize(
    "name, parts",
    [
        ("a/b.npz:12", ("a/b.npz", "12")),
        ("c:/b.png", ("c:/b.png", "")),
        ("b:x.png", ("b:x.png", "")),
        (":12", (":12", "")),
        ("a.npz:²", ("a.npz:²", "")),
    ],
)
def test_a_file_and_its_row(name, parts):
    assert file_and_row(name) == parts


def test_a_file_whose_name_ends_as_a_row_does_and_a_folder_at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_and_row("a:1") == ("a", "1")
    (tmp_path / "a:1").write_text("")
    assert file_and_row("a:1") == ("a:1", "")
    pixels = numpy.zeros((2, 2, 3), dtype=numpy.uint8)
    MaskFiles("~/out").write("a", pixels, numpy.zeros((2, 2), dtype=bool))
    assert (tmp_path / "out").is_dir() and not (tmp_path / "~").exists()
