"""Segmentation: each method has its configs, and a data set of folders with images of several sizes needs no more."""

from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.predictors import Predictor
from PIL import Image

from scripts.measure.configs import library_value, text
from seal.samplers import CorrelatedDraws
from seal.tasks.segmentation import SegmentationPredictor
from tests.few_epochs import few_epochs
from tests.segmentation import arrays

CONFIGS = Path(__file__).parents[2] / "training_configs"


def test_each_method_has_a_config_for_each_data_set():
    names = library_value("segmentation.libsonnet", "std.objectFields(lib.method)")
    paths = [f"{place}{name}.jsonnet" for place in ("shapes_", "weizmann/") for name in names if name != "own"]
    # End-to-end SPENs have a config for the sample alone.
    missing = [path for path in paths if not (CONFIGS / path).is_file()]
    assert missing == ["weizmann/spen_end_to_end.jsonnet"]


def test_the_sampler_has_as_many_fields_by_itself_as_here():
    fields = library_value("segmentation.libsonnet", "lib.settings('weizmann', 'nce').num_fields")
    assert CorrelatedDraws().num_fields == fields


def test_a_data_set_has_methods_with_its_settings():
    names = ["lib.settings('shapes', 'dvn')", "lib.method_for.shapes.dvn().base"]
    of_set, called = library_value("segmentation.libsonnet", f"[{', '.join(names)}]")
    added = library_value("segmentation.libsonnet", "lib.method.dvn().base + lib.training.shapes")
    assert of_set == called == added and of_set["epochs"] == 40


def experiment(entry, settings="{}"):
    """The config of cross-entropy on data of one's own."""
    call = f"lib.experiment(data={entry}, method=lib.method.cross_entropy(), training={settings})"
    return library_value("segmentation.libsonnet", call)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of data with images of several sizes."""
    folder = tmp_path_factory.mktemp("photos")
    for kind, pixels in arrays(3, 40, 30).items():
        (folder / kind).mkdir()
        for row, size in enumerate(((30, 40), (44, 28), (26, 36))):
            image = Image.fromarray(pixels[row] * (255 if kind == "masks" else 1))
            image.resize(size, Image.Resampling.NEAREST).save(folder / kind / f"{row}.png")
    return folder


@pytest.mark.parametrize("resize", ["32", "[28, 36]"])
@pytest.mark.parametrize("crops", ["true", "false"])
def test_folders_of_images_of_several_sizes(photos, resize, crops, tmp_path):
    path = text(str(photos))
    entry = f"{{ train: {path}, valid: {path}, resize: {resize}, crop: 24 }}"
    config = experiment(entry, f"{{ crops: {crops}, crops_per_side: 2 }}")
    few_epochs(config["trainer"])
    model = train_model(Params(config), str(tmp_path / "run"))
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())
    assert 0 <= model.get_metrics()["mean_iou"] <= 100
    predictor = Predictor.from_path(tmp_path / "run")
    assert isinstance(predictor, SegmentationPredictor)
    assert predictor.predict(str(photos / "images" / "1.png"))["size"] == [44, 28]


def test_images_of_one_size_are_not_resized():
    config = experiment("{ train: 'a', valid: 'b', size: 32, crop: 24 }", "{ crops: false }")
    assert config["model"]["output_space"]["size"] == 32
    assert "resize" not in config["dataset_reader"] and "resize" not in config["validation_dataset_reader"]
