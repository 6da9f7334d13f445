"""scripts/benchmark.py --suite segmentation: that it times what it says, and a run with the smallest settings."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader

from scripts.measure import bench_segmentation as bench
from scripts.measure.configs import library_value
from scripts.measure.suite import ROOT
from seal.dataset_readers.tensor_loader import TensorLoader
from tests.experiments import config as config_of
from tests.experiments import expression
from tests.scripts.benchmarks import still_steps_of, table_of

TRAINED = {"dvn": ["loss_net"], "cross_entropy": ["task_net"], "spen_end_to_end": ["task_net"]}


@pytest.mark.parametrize("reader, loader", [("", "data_loader"), ("validation_", "validation_data_loader")])
def test_batches_are_like_those_of_a_config(reader, loader):
    # The made-up shapes are as large as Weizmann's horses, which a clone does not have.
    config = config_of("segmentation", "shapes", "cross_entropy")
    entries = [library_value("segmentation.libsonnet", f"lib.data.{name}") for name in ("shapes", bench.DATASET)]
    assert len({(entry["size"], entry["crop"]) for entry in entries}) == 1
    side = entries[0]["size" if reader else "crop"]
    made = DatasetReader.from_params(Params(config[f"{reader}dataset_reader"]))
    path = ROOT / entries[0]["valid" if reader else "train"]
    real = next(iter(TensorLoader(made, str(path), batch_size=config[loader]["batch_size"])))
    first, second = bench.random_batches(2, bench.batch_size(loader), side)
    for name in ("image", "mask"):
        assert first[name].shape == real[name].shape and first[name].dtype == real[name].dtype
        assert not torch.equal(first[name], second[name])
    assert first["image"].shape == (8, 3, side, side)
    assert first["mask"].unique().tolist() == real["mask"].unique().tolist() == [0, 1]
    assert first["image"].min() >= -2 and first["image"].max() <= 2


@pytest.mark.parametrize("loader", ["data_loader", "validation_data_loader"])
def test_all_methods_have_the_batches_of_the_baseline(loader):
    calls = ", ".join(expression("segmentation", bench.DATASET, name) for name in bench.METHODS)
    sizes = library_value("segmentation.libsonnet", f"[made.{loader}.batch_size for made in [{calls}]]")
    assert set(sizes) == {bench.batch_size(loader)}


@pytest.mark.parametrize("method", bench.METHODS)
def test_timed_steps_are_updates_that_change_nothing(method):
    trainer = bench.SegmentationBenchmark([method], num_batches=2).build_trainer(method)
    # An update a batch of each net that there is.
    assert still_steps_of(trainer) == dict.fromkeys(TRAINED.get(method, ["task_net", "loss_net"]), {2.0})


def test_predictions_are_those_of_the_configs():
    models = {name: bench.experiment(**settings)["model"] for name, settings in bench.PREDICTED.items()}
    assert models["cross_entropy"] == bench.experiment("cross_entropy")["model"]
    assert models["dvn"] == bench.experiment("dvn")["model"]
    assert models["dvn"]["inference"]["type"] == "gradient_based_inference"
    sides = {name: model["crops_per_side"] for name, model in models.items()}
    assert sides == {"cross_entropy": 6, "cross_entropy_4_crops": 2, "dvn": 2}


def test_a_small_benchmark(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "batch_size", {"data_loader": 2, "validation_data_loader": 1}.get)
    table = table_of(tmp_path, "segmentation", "--methods", "nce", "--batches", "1", "--cases", "step,prediction")
    seconds = table[table["metric"].isin(["seconds", "cpu_seconds"])].set_index(["case", "method", "metric"])
    assert len(seconds) == 4
    speeds = table[table["metric"] == "examples_per_second"].set_index(["case", "method"])
    assert list(speeds.loc["training, batch 2"].index) == ["cross_entropy", "nce"]
    assert list(speeds.loc["prediction, batch 1"].index) == list(bench.PREDICTED)
    for row in [*seconds.itertuples(), *speeds.itertuples()]:
        assert row.value > 0 and row.ratio == pytest.approx(row.value / row.baseline)
        assert row.Index[1] != "cross_entropy" or row.ratio == 1
    for method in ("cross_entropy", "nce"):
        taken = seconds.loc[("step, batch 2", method, "seconds"), "value"]
        assert speeds.loc[("training, batch 2", method), "value"] == pytest.approx(2 / taken)
    assert "data random, images of 32 pixels a side, crops of 24" in capsys.readouterr().out


def test_memory_of_steps(tmp_path, memory_of_clean_forks):
    table = table_of(tmp_path, "segmentation", "--cases", "memory", "--methods", "cross_entropy")
    table = table.set_index(["method", "metric"])
    assert table["ratio"].tolist() == [1, 1]
    # Of the process, imports take the most.
    assert 0 < table["value"]["cross_entropy", "added_mib"] < 0.5 * table["value"]["cross_entropy", "peak_mib"]
