"""`trainer.shard_optimizer_states`: the run of whole states, with a part of them in each worker."""

import re

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.training.sharded_optimizer import ShardedOptimizer
from seal.two_player import TwoPlayerOptimizer
from tests.training.runs import (
    LINEAR,
    PLATEAU,
    KillAt,
    Killed,
    build,
    build_worker,
    comparable,
    config,
    on_workers,
    same,
    weights,
)

SHARDED = {"trainer__shard_optimizer_states": True}


def state_bytes(optimizer: TwoPlayerOptimizer) -> int:
    states = [state for player in optimizer.players.values() for state in player.state.values()]
    return sum(value.nbytes for state in states for value in state.values() if torch.is_tensor(value))


@pytest.mark.parametrize(
    "more",
    [
        {"trainer__num_gradient_accumulation_steps": 2},
        {"trainer__task_net__optimizer": {"type": "adamw", "lr": 5e-3, "parameter_groups": [[["bias"], {"lr": 1e-3}]]}},
        {"trainer__loss_net__optimizer": {"type": "sgd", "lr": 5e-3, "momentum": 0.9}, "trainer__use_amp": True},
        {"trainer__task_net__learning_rate_scheduler": LINEAR, "trainer__loss_net__learning_rate_scheduler": PLATEAU},
        {
            "trainer__phases": [
                {"epochs": 1, "train": "task_net", "energy": False},
                {"epochs": 1, "train": "loss_net"},
                {"restart": True},
            ]
        },
        {"trainer__type": "implicit_gradient", "trainer__solver": {"type": "identity"}},
    ],
    ids=["fused", "foreach_groups", "momentum_mixed", "schedulers", "restart", "implicit"],
)
def test_the_run_is_that_of_whole_states(tmp_path, more):
    """Norms of gradients are clipped in all of them."""

    def work(rank):
        results = []
        for name, sharded in (("whole", {}), ("parts", SHARDED)):
            settings = config(batch_size=1, epochs=3, **{"trainer__task_net__grad_norm": 1.0, **more, **sharded})
            trainer = build_worker(settings, tmp_path / name, rank)
            results.append((comparable(trainer.train()), weights(trainer.model), state_bytes(trainer.optimizer)))
        return results

    for name in ("whole", "parts"):
        build(config(batch_size=1, epochs=3, **more), tmp_path / name)
    sizes = []
    for (metrics, reached, size), (of_parts, reached_in_parts, part) in on_workers(work, tmp_path):
        assert same(reached, reached_in_parts)
        assert metrics == of_parts
        sizes.append(part / size)
    assert sum(sizes) == pytest.approx(1) and max(sizes) < 0.6


@pytest.mark.parametrize(
    "then, nodes", [(SHARDED, 1), (SHARDED, 2), ({}, 1)], ids=["in_parts", "on_two_nodes", "with_whole_states"]
)
def test_a_killed_run_goes_on(tmp_path, then, nodes):
    """Bit for bit: the checkpoint of each node has all states, and each worker takes its part, or all of them."""
    settings = config(epochs=3, trainer__checkpointer={"save_every_num_batches": 1}, **SHARDED)

    def work(rank):
        folder, place = tmp_path / str(rank % nodes), {"rank": rank, "on_node": rank // nodes}
        whole = build_worker(settings, folder / "whole", **place)
        found = comparable(whole.train()), weights(whole.model)
        trainer = build_worker(settings, folder / "killed", **place)
        trainer._callbacks.append(KillAt(4))
        try:
            trainer.train()
        except Killed:
            pass
        torch.distributed.barrier()
        continued = config(epochs=3, trainer__checkpointer={"save_every_num_batches": 1}, **then)
        trainer = build_worker(continued, folder / "killed", **place)
        assert isinstance(trainer.optimizer, ShardedOptimizer) == bool(then)
        again = comparable(trainer.train()), weights(trainer.model)
        return found, again, (state_bytes(trainer.optimizer), state_bytes(whole.optimizer))

    for node in range(nodes):
        for folder in ("whole", "killed"):
            build(settings, tmp_path / str(node) / folder)
    for (metrics, reached), (again, reached_again), (size, part) in on_workers(work, tmp_path):
        assert metrics == again
        assert same(reached, reached_again)
        assert size == part if then else size > 1.6 * part


def test_one_process_has_all_states(tmp_path):
    assert type(build(config(**SHARDED), tmp_path).optimizer) is TwoPlayerOptimizer


@pytest.mark.parametrize(
    "more, message",
    [
        (
            {
                "trainer__task_net__optimizer": {
                    "type": "multi",
                    "optimizers": {"default": {"type": "sgd", "lr": 0.1}, "first": {"type": "sgd", "lr": 0.1}},
                    "parameter_groups": [[["bias"], {"optimizer_name": "first"}]],
                }
            },
            "trainer.shard_optimizer_states: the task_net has AllenNLP's optimizer 'multi'",
        ),
        (
            {"trainer__type": "implicit_gradient", "trainer__geometry": "adam"},
            "trainer.shard_optimizer_states: the geometry 'adam' reads",
        ),
    ],
    ids=["multi", "geometry"],
)
def test_what_cannot_be_in_parts_is_refused(tmp_path, more, message):
    settings = config(**SHARDED, **more)

    def work(rank):
        with pytest.raises(ConfigurationError, match=re.escape(message)):
            build_worker(settings, tmp_path, rank)

    build(config(), tmp_path)
    on_workers(work, tmp_path)
