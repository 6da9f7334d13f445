"""
How often a training step reads a number from the device. On a GPU each reading waits for all that was asked of it
before; on a CPU it costs nothing, and is counted here.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import seal  # noqa: F401
from scripts.measure.bench_gpu_parts import sample_trainer
from scripts.measure.bench_timing import train_epoch

aten = torch.ops.aten
READINGS = {aten._local_scalar_dense.default, aten.equal.default, aten.nonzero.default, aten.masked_select.default}
STEPS = 4


class Readings(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        indexed = args[1] if function in (aten.index.Tensor, aten.index_put.default, aten.index_put_.default) else ()
        booleans = any(index is not None and index.dtype == torch.bool for index in indexed)
        self.count += function in READINGS or booleans
        return function(*args, **(kwargs or {}))


# AllenNLP's trainer reads two a step, and its LSTMs one a pass, which packs sequences on the CPU at two more.
@pytest.mark.parametrize(("config", "most"), [("multilabel_nce", 9), ("srl_cross_entropy", 10)])
def test_readings_of_a_step(config, most):
    trainer, steps = sample_trainer(config, STEPS)
    train_epoch(trainer)
    with Readings() as readings:
        train_epoch(trainer)
    # The check of all weights after an epoch is one reading for each player.
    assert (readings.count - len(trainer.optimizer.players)) / steps <= most
