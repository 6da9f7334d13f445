import json
import os
from pathlib import Path

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from PIL import Image

from seal.tasks.segmentation import SegmentationPredictor
from seal.tasks.segmentation.predictor import MaskFiles, Picture, file_and_row
from seal.tasks.segmentation.reader import SegmentationReader, as_input
from tests.segmentation import arrays, model, seal_parts, write_npz
from tests.tasks.records_of_lines import of_lines


def predictor(reader=None, **settings):
    return SegmentationPredictor(model(**seal_parts()), reader or SegmentationReader(), **settings)


def test_the_record_and_the_files_of_an_image(tmp_path):
    pixels = arrays()["images"][2]
    Image.fromarray(pixels).save(tmp_path / "horse.png")
    ours = predictor(folder=str(tmp_path / "out"), energy=True)
    record = ours.predict(str(tmp_path / "horse.png"))
    with torch.no_grad():
        output = ours._model(as_input(torch.from_numpy(pixels)).double().unsqueeze(0))
    mask = output["predicted"][0].numpy()
    assert 0 < mask.mean() < 1
    assert record["size"] == [12, 10] and record["foreground"] == pytest.approx(mask.mean())
    left, top, right, bottom = record["box"]
    assert mask[top : bottom + 1, left : right + 1].sum() == mask.sum()
    assert mask[top].any() and mask[bottom].any() and mask[:, left].any() and mask[:, right].any()
    assert f"of 12 x 10 pixels, in columns {left} to {right} and rows {top} to {bottom}" in record["description"]
    assert record["energy"] == pytest.approx(output["energy"].item())
    written = numpy.asarray(Image.open(record["mask_file"]))
    assert numpy.array_equal(written, mask * 255) and record["mask_file"].endswith("horse.mask.png")
    overlay = numpy.asarray(Image.open(record["overlay_file"]))
    assert numpy.array_equal(overlay[~mask], pixels[~mask]) and (overlay[mask] != pixels[mask]).any(axis=1).all()
    json.loads(ours.dump_line(record))


def test_rows_of_an_archive_and_names_that_come_twice(tmp_path):
    path = write_npz(tmp_path)
    ours = predictor(folder=str(tmp_path / "out"))
    lines = [json.dumps({"images": path, "row": row}) for row in (3, 0, 3)]
    records = of_lines(ours, lines)
    assert [record["image"] for record in records] == [f"{path}:{row}" for row in (3, 0, 3)]
    names = [record["mask_file"].rpartition("/")[2] for record in records]
    assert names == ["data_3.mask.png", "data_0.mask.png", "data_3.2.mask.png"]
    by_reader = predictor().predict_batch_instance(list(SegmentationReader().read(path)))
    assert by_reader[3] == {key: value for key, value in records[0].items() if not key.endswith("_file")}


def test_equal_names_are_numbered_in_the_order_of_the_input(tmp_path):
    paths = []
    for name, size in (("a", (12, 10)), ("b", (9, 8)), ("c", (12, 10))):
        (tmp_path / name).mkdir()
        paths.append(str(tmp_path / name / "p.png"))
        Image.fromarray(arrays()["images"][0]).resize(size).save(paths[-1])
    records = predictor(folder=str(tmp_path / "out")).predict_batch_json([{"image": path} for path in paths])
    names = [Path(record["mask_file"]).name for record in records]
    assert names == ["p.mask.png", "p.2.mask.png", "p.3.mask.png"]


def test_an_archive_is_read_again_when_it_has_changed(tmp_path):
    path, ours = write_npz(tmp_path), predictor()
    before = ours.predict_json({"images": path, "row": 0})
    write_npz(tmp_path, images=arrays(height=9, width=8)["images"])
    os.utime(path, (0, 0))
    after = ours.predict_json({"images": path, "row": 0})
    assert before["size"] == [12, 10] and after["size"] == [8, 9]


def test_a_mask_in_another_size_has_its_pixels_where_the_models_pixels_are():
    ours = predictor(SegmentationReader(resize=8))
    columns = torch.tensor([0.3, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95])
    ours._model.forward = lambda image: {"probabilities": columns.expand(1, 8, 8)}
    pixels = numpy.zeros((16, 16, 3), dtype=numpy.uint8)
    record = ours.records([Picture("x", pixels, torch.zeros(3, 8, 8))])[0]
    # The second column of 16 has its centre a quarter of the way from that of the first of 8 to that of the second:
    # there the probability is 0.4625. The third has 0.7875.
    assert record["box"] == [2, 0, 15, 15]


def test_a_reader_that_resizes_leaves_masks_the_size_of_their_images(tmp_path):
    folder, reader = tmp_path / "data", SegmentationReader(resize=[8, 9])
    for name, place, size in (("a.png", 0, (12, 10)), ("b.png", 1, (20, 16))):
        for kind, pixels in arrays().items():
            (folder / kind).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[place]).resize(size).save(folder / kind / name)
    archive = write_npz(tmp_path)
    images = [str(folder / "images" / name) for name in ("a.png", "b.png")]
    lines = [{"image": image} for image in images] + [{"images": archive, "row": row} for row in range(5)]
    instances = [*reader.read(str(folder)), *reader.read(archive)]
    by_line = predictor(reader, folder=str(tmp_path / "out")).predict_batch_json(lines)
    masks = [Path(record["mask_file"]).read_bytes() for record in by_line]
    by_reader = predictor(reader, folder=str(tmp_path / "out")).predict_batch_instance(instances)
    assert by_reader == by_line and [record["size"] for record in by_reader[:3]] == [[12, 10], [20, 16], [12, 10]]
    for record, mask in zip(by_reader, masks):
        assert Path(record["mask_file"]).read_bytes() == mask
        assert Image.open(record["overlay_file"]).size == tuple(record["size"])
    # An image of a program has no file, and its own size.
    made = reader.text_to_instance(arrays()["images"][0])
    assert predictor(reader).predict_instance(made)["size"] == [12, 10]


PIXELS = arrays()["images"][2]
MASK = PIXELS[..., 0] > 128


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


def test_a_second_run_replaces_the_files_of_the_first(tmp_path):
    for _ in range(2):
        files = MaskFiles(str(tmp_path))
        paths = [
            files.write(image, PIXELS, MASK)["mask_file"] for image in ("a/p\u00e9.png", "b/p\u00e9.png", "p.2.png")
        ]
        assert [Path(path).name for path in paths] == ["p\u00e9.mask.png", "p\u00e9.2.mask.png", "p.2.mask.png"]


def test_an_image_in_the_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for folder, path in ((".", "p.png"), (str(tmp_path), "p.png"), ("out", f"{tmp_path}/out/p.png")):
        with pytest.raises(ConfigurationError, match="p.png"):
            MaskFiles(folder).check_elsewhere(path)
    for folder, path in (("out", "p.png"), ("new", "p.png"), ("out", "none/p.png")):
        MaskFiles(folder).check_elsewhere(path)


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in ("", str(tmp_path / "file")):
        with pytest.raises(ConfigurationError, match="^folder"):
            MaskFiles(folder)


def test_a_file_whose_name_ends_as_a_row_does_and_a_folder_at_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_and_row("a:1") == ("a", "1")
    (tmp_path / "a:1").write_text("")
    assert file_and_row("a:1") == ("a:1", "")
    pixels = numpy.zeros((2, 2, 3), dtype=numpy.uint8)
    MaskFiles("~/out").write("a", pixels, numpy.zeros((2, 2), dtype=bool))
    assert (tmp_path / "out").is_dir() and not (tmp_path / "~").exists()
