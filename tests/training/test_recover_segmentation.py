"""A killed run of segmentation recovers to the same result: crops and mirroring come from torch's generator."""

import copy
import json
from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.training import AlternatingTrainer
from tests.segmentation import LOSS_NET, TASK_NET, write_npz


def config(path, checkpointer):
    player = {"optimizer": {"type": "adam", "lr": 0.01}}
    task_net = copy.deepcopy(TASK_NET)
    # Draws of its own between the batches' draws.
    task_net["dropout"] = 0.3
    return {
        "dataset_reader": {"type": "seal_segmentation", "crop": 8, "mirror": True},
        "validation_dataset_reader": {"type": "seal_segmentation"},
        "train_data_path": path,
        "validation_data_path": path,
        "model": {
            "type": "seal_segmentation",
            "output_space": {"type": "binary_mask", "size": 8},
            "crops_per_side": 2,
            "task_net": task_net,
            "loss_net": copy.deepcopy(LOSS_NET),
            "sampler": {"type": "correlated_draws", "num_samples": 3, "num_fields": 2},
            "energy_loss": {"type": "nce_ranking"},
        },
        "data_loader": {"type": "tensors", "batch_size": 2, "shuffle": True},
        "trainer": {
            "type": "alternating",
            "num_epochs": 4,
            "checkpointer": checkpointer,
            "validation_metric": "+mean_iou",
            "task_net": player,
            "loss_net": copy.deepcopy(player),
        },
    }


def test_validation_data_are_the_same_in_each_pass(tmp_path):
    """Told before the first epoch."""
    settings = config(write_npz(tmp_path), {})
    settings["validation_dataset_reader"]["mirror"] = True
    with pytest.raises(ConfigurationError, match="validation_dataset_reader: with crop or mirror"):
        train_model(Params(copy.deepcopy(settings)), str(tmp_path / "run"))
    assert not list((tmp_path / "run").glob("metrics_epoch_*"))


@pytest.mark.slow
@pytest.mark.parametrize("checkpointer", [{"save_every_num_batches": 1}, {}])
@pytest.mark.parametrize("seen", [2, 5])
def test_a_killed_run_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch, seen, checkpointer):
    """Killed in the first of four epochs, and in the second; with checkpoints of each batch, and of epochs alone."""
    path = write_npz(tmp_path)
    whole = train_model(Params(config(path, checkpointer)), str(tmp_path / "whole"))
    original = AlternatingTrainer.training_loss
    steps = []

    def dying(self, batch):
        if len(steps) == seen:
            raise KeyboardInterrupt
        steps.append(1)
        return original(self, batch)

    monkeypatch.setattr(AlternatingTrainer, "training_loss", dying)
    with pytest.raises(KeyboardInterrupt):
        train_model(Params(config(path, checkpointer)), str(tmp_path / "killed"))
    monkeypatch.setattr(AlternatingTrainer, "training_loss", original)
    # A new process stands at other random numbers; a config's seeds would hide it.
    torch.manual_seed(99)
    recovered = train_model(Params(config(path, checkpointer)), str(tmp_path / "killed"), recover=True)
    ours, theirs = recovered.state_dict(), whole.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    metrics = [json.loads((Path(tmp_path) / run / "metrics.json").read_text()) for run in ("whole", "killed")]
    assert metrics[0]["best_validation_mean_iou"] == metrics[1]["best_validation_mean_iou"]
