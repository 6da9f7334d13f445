"""
How often a training step reads a number from the device. On a GPU each reading waits for all that was asked of it
before; on a CPU it costs nothing, and is counted here.
"""

import contextlib
import json
from itertools import islice
from typing import Any

import _jsonnet
import pytest
import torch
from allennlp.common import Params
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from torch.utils._python_dispatch import TorchDispatchMode

import seal.plugin  # noqa: F401
from scripts.measure import bench_base
from scripts.measure.bench_base import Batches
from scripts.measure.bench_timing import train_epoch
from scripts.measure.configs import find_import
from scripts.measure.suite import ROOT

aten = torch.ops.aten
READINGS = {aten._local_scalar_dense.default, aten.equal.default, aten.nonzero.default, aten.masked_select.default}
STEPS = 4
ROWS = 32


class Readings(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        indexed = args[1] if function in (aten.index.Tensor, aten.index_put.default, aten.index_put_.default) else ()
        booleans = any(index is not None and index.dtype == torch.bool for index in indexed)
        self.count += function in READINGS or booleans
        return function(*args, **(kwargs or {}))


def sample(name: str, num_batches: int) -> tuple[dict[str, Any], Vocabulary, list[Any]]:
    """A config of `training_configs`, its vocabulary and its first batches."""
    path = ROOT / "training_configs" / f"{name}.jsonnet"
    config = json.loads(_jsonnet.evaluate_file(str(path), import_callback=find_import))
    with contextlib.chdir(ROOT):
        settings = {**config["dataset_reader"], "max_instances": ROWS * (num_batches + 1)}
        reader = DatasetReader.from_params(Params(settings))
        loader_settings = {**config["data_loader"], "batch_size": ROWS}
        loader_settings.pop("batch_sampler", None)
        loader = DataLoader.from_params(Params(loader_settings), reader=reader, data_path=config["train_data_path"])
        vocab = Vocabulary.from_params(Params(config.get("vocabulary", {})), instances=loader.iter_instances())
        loader.index_with(vocab)
        return config, vocab, list(islice(loader, num_batches))


def sample_trainer(name: str, num_batches: int) -> tuple[Any, int]:
    """The trainer of a config over its first batches, with both players in every step; and how many batches."""
    config, vocab, batches = sample(name, num_batches)
    model = bench_base.build_model(config["model"], vocab)
    settings = {key: value for key, value in config["trainer"].items() if key not in ("phases", "folds", "patience")}
    return bench_base.build_trainer(settings, model, Batches(batches)), len(batches)


# AllenNLP's trainer reads two a step, and its LSTMs one a pass, which packs sequences on the CPU at two more.
@pytest.mark.parametrize(("config", "most"), [("multilabel_nce", 9), ("srl_cross_entropy", 10)])
def test_readings_of_a_step(config, most):
    trainer, steps = sample_trainer(config, STEPS)
    train_epoch(trainer)
    with Readings() as readings:
        train_epoch(trainer)
    # The check of all weights after an epoch is one reading for each player.
    assert (readings.count - len(trainer.optimizer.players)) / steps <= most
