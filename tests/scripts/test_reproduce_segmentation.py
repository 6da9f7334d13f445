"""scripts/reproduce.py --suite segmentation: configs, scores against slow ones, and a whole run."""

import numpy
import pandas
import pytest

from scripts import reproduce
from scripts.measure import significance
from scripts.measure.files import read_json
from scripts.measure.suite import Settings, all_families, all_suites
from seal.tasks.segmentation.images import read_masked_images
from tests.scripts.trained_here import trained_here
from tests.scripts.written_configs import ROOT, evaluated

SUITES = all_suites()
FAMILY = all_families()["segmentation"]


@pytest.mark.parametrize("dataset", ["shapes", "weizmann"])
def test_configs_are_those_of_training_configs(dataset):
    suite = FAMILY.suites(SUITES)[dataset]
    compared = 0
    for name, method in suite.methods.items():
        path = ROOT / "training_configs" / f"{'shapes_' if dataset == 'shapes' else 'weizmann/'}{name}.jsonnet"
        if path.is_file():
            config = evaluated(path.read_text(encoding="utf-8"), path.parent)
            settings = Settings(seed=13, epochs=config["trainer"]["num_epochs"], fraction=1.0)
            assert evaluated(method.write(settings)) == config
            compared += 1
    assert compared >= 6


def test_settings_reach_the_config():
    method = SUITES["segmentation_weizmann"].methods["nce"]
    more = (("crops", "false"), ("energy_weight", "3"))
    config = evaluated(method.write(Settings(3, 5, 1.0, more=more)))
    assert config["model"]["output_space"]["size"] == 32 and "crop" not in config["dataset_reader"]
    assert config["model"]["task_loss"]["energy_weight"] == 3
    assert config["trainer"]["num_epochs"] == 5 and config["random_seed"] == 3
    assert "seed" not in SUITES["segmentation_weizmann"].setting_names("nce")


def test_a_run_is_trained_scored_and_compared(tmp_path, capsys):
    arguments = ["--suite", "segmentation", "--seeds", "1", "--epochs", "1", "--methods", "cross_entropy"]
    arguments += ["--settings", "crops_per_side=2,batch_size=30", "--splits", "valid,test", "--out", str(tmp_path)]
    with trained_here():
        assert reproduce.main(arguments) == 0
    assert "mean IoU" in capsys.readouterr().out
    run = tmp_path / "runs" / "segmentation_shapes-cross_entropy-1"
    metrics = read_json(run / "result.json")["metrics"]
    assert set(metrics) == {"valid", "test", "train"}
    images = pandas.read_csv(run / "frames_test.csv.gz")
    gold = read_masked_images(str(ROOT / "data" / "shapes_sample" / "test.npz")).masks
    assert len(images) == len(gold) and (images["intersection"] <= gold.reshape(40, -1).sum(axis=1)).all()
    assert images["iou"].to_numpy() == pytest.approx((images["intersection"] / images["union"]).to_numpy())
    statistics = SUITES["segmentation_shapes"].statistics
    for name in ("mean_iou", "global_iou"):
        sums = {column: images[column].sum() for column in statistics[name].columns}
        assert statistics[name].value(sums) == pytest.approx(metrics["test"][name])
    # The pixels that are right are what is left of the union.
    pixels = gold.size
    wrong = images["union"].sum() - images["intersection"].sum()
    assert metrics["test"]["pixel_accuracy"] == pytest.approx(100 * (1 - wrong / pixels))
    better = images.assign(iou=numpy.minimum(images["iou"] + 0.1, 1.0))
    key = SUITES["segmentation_shapes"].key
    comparison = significance.paired_bootstrap(images, better, key, statistics["mean_iou"])
    assert comparison.difference == pytest.approx(10, abs=0.01) and comparison.p_value < 0.01
