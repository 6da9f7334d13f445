"""scripts/benchmark.py --suite gpu: what can be checked without a GPU, and a run where there is one."""

import warnings

import pytest
import torch

from scripts import benchmark
from scripts.measure import bench_gpu as bench
from scripts.measure import bench_gpu_parts as parts
from tests.scripts.benchmarks import table_of

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_is_refused(tmp_path, capsys):
    assert benchmark.main(["--suite", "gpu", "--out", str(tmp_path)]) == 2
    assert "--suite gpu: torch finds no GPU here" in capsys.readouterr().err


def test_what_is_compared_is_the_same_twice_on_one_device(monkeypatch):
    monkeypatch.setattr(parts, "GPU", parts.CPU)
    found = {**parts.chain_quantities(), **parts.solutions(), **parts.model_quantities("multilabel_nce")}
    shares = {name: found.pop(name) for name in list(found) if "shares" in name}
    assert set(found.values()) == {0.0} and len(found) > 20
    # About one over the root of their number.
    assert all(0 < share < 0.05 for share in shares.values()) and len(shares) == 2


def test_a_difference_is_relative():
    here = torch.tensor([3.0, 4.0])
    assert parts.relative_difference(here, here + torch.tensor([0.0, 0.5])) == pytest.approx(0.1)
    assert parts.relative_difference(torch.zeros(2), torch.ones(2)) == pytest.approx(2**0.5)


def test_each_config_has_a_step_of_all_players():
    for name in ("srl_nce_as_a_loss", "multilabel_implicit_cd"):
        trainer, steps = parts.sample_trainer(name, 2)
        assert steps == 2 and set(trainer.plan.order) == {"loss_net", "task_net"}


def test_synchronisations_are_counted_by_their_place(monkeypatch):
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", lambda mode: None)
    with parts.counted_synchronisations() as places:
        for message in ("called a synchronizing CUDA operation", "called a synchronizing CUDA operation", "other"):
            warnings.warn(message, stacklevel=1)
    assert dict(places) == {"elsewhere": 2}


@needs_gpu
def test_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "CONFIGS", ("multilabel_nce",))
    monkeypatch.setattr(bench, "SIZES", (8,))
    cases = ["--cases", "agreement,synchronisations,step", "--layers", "1", "--width", "32", "--methods", "nce_20"]
    table = table_of(tmp_path, "gpu", *cases, "--batches", "2")
    differences = table[table["metric"] == "relative_difference"]
    assert (differences["value"] < 1e-4).sum() >= len(differences) - 2
    assert (table[table["metric"] == "all"]["value"] > 0).all()
