"""Several workers: as one process with their batches joined, and never waiting for each other in vain."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.training.distributed import GradientExchange, ShardedOptimizer, take_from_first_worker
from seal.two_player import TwoPlayerOptimizer
from tests.mixed_precision import needs_bfloat16_lstms
from tests.training.runs import (
    LINEAR,
    PLATEAU,
    ROOT,
    build,
    build_worker,
    comparable,
    config,
    distance,
    ended,
    killed_worker,
    on_workers,
    record,
    same,
    weights,
)


@pytest.fixture(autouse=True)
def buckets(monkeypatch):
    """Small enough for the nets of these tests to have several."""
    monkeypatch.setattr(GradientExchange, "bucket_bytes", 400)


@pytest.mark.parametrize("size", [16, math.inf])
def test_gradients_are_averaged(tmp_path, monkeypatch, size):
    monkeypatch.setattr(GradientExchange, "bucket_bytes", size)

    def work(rank):
        parameters = [torch.nn.Parameter(torch.zeros(2, 3)), torch.nn.Parameter(torch.zeros(4))]
        parameters += [torch.nn.Parameter(torch.zeros(())), torch.nn.Parameter(torch.zeros(1))]
        parameters[0].grad = torch.arange(6.0).view(2, 3) * (rank + 1)
        if rank == 0:
            parameters[1].grad = torch.ones(4)
        parameters[3].grad = torch.tensor([float("inf") if rank else 1.0])
        GradientExchange(parameters).finish()
        return [parameter.grad for parameter in parameters]

    first, second = on_workers(work, tmp_path)
    for found in (first, second):
        assert torch.equal(found[0], torch.arange(6.0).view(2, 3) * 1.5)
        assert torch.equal(found[1], torch.full((4,), 0.5))
        assert found[2] is None
        # An overflow in one worker is one in all: each of their scalers skips the update.
        assert found[3].isinf().all()


def test_rows_that_no_worker_reaches_are_not_sent(tmp_path):
    def work(rank):
        tables = [torch.nn.Parameter(torch.zeros(50, 3)) for _ in range(3)]
        tables[0].grad = torch.zeros(50, 3)
        tables[0].grad[[4, 7 + rank, 40]] = torch.tensor([[2.0, 0, 0], [0, 1, 0], [0, 0, math.nan if rank else 1]])
        if rank:
            tables[1].grad = torch.ones(50, 3)
        sent = []
        record(dist, "all_reduce", sent, lambda tensor, *_, **__: tensor.shape)
        GradientExchange(tables).finish()
        return [table.grad for table in tables], sent

    for found, sent in on_workers(work, tmp_path):
        some, all_rows, none = found
        wanted = torch.zeros(50, 3)
        wanted[[4, 7, 8, 40]] = torch.tensor([[2, 0, 0], [0, 0.5, 0], [0, 0.5, 0], [0, 0, math.nan]])
        assert torch.equal(some.isnan(), wanted.isnan()) and torch.equal(some.nan_to_num(), wanted.nan_to_num())
        assert torch.equal(all_rows, torch.full((50, 3), 0.5))
        assert none is None
        assert sorted(sent) == [(4, 3), (50, 3), (51,), (51,), (51,)]


def layers() -> torch.nn.ModuleList:
    """Each of them more than a bucket."""
    torch.manual_seed(0)
    return torch.nn.ModuleList(torch.nn.Linear(20, 20) for _ in range(5))


def test_buckets_are_sent_in_the_last_backward_pass(tmp_path, monkeypatch):
    """With gradients as of one piece that is sent at the end, whatever the batches reach."""
    # The layers that each worker's micro-batches reach, by step. No batch reaches the last layer at first.
    reached = [
        [[(0, 1, 2, 3), (0, 1, 2, 3)], [(0, 1, 2, 3), (0, 1, 2, 3)]],
        [[(0, 1, 2, 3), (0, 1, 2, 3)], [(0, 1, 2, 3), (0, 1, 2, 3)]],
        [[(0, 1, 4), (0, 2, 3)], [(0, 1), (0, 3)]],
        [[(0, 1, 2, 3, 4)], [(0,)]],
        [[()], [(1, 2, 3, 4)]],
    ]

    def gradients(rank):
        net = layers()
        exchange = GradientExchange(net.parameters())
        found, early = [], []
        for step, workers in enumerate(reached):
            generator = torch.Generator().manual_seed(2 * step + rank)
            for part, chosen in enumerate(workers[rank]):
                value = torch.randn(7, 20, generator=generator)
                for layer in chosen:
                    value = net[layer](value).tanh()
                if part == len(workers[rank]) - 1:
                    exchange.begin()
                if chosen:
                    value.sum().backward()
                assert part == len(workers[rank]) - 1 or not exchange._sent
            early.append(len(exchange._sent))
            exchange.finish()
            found.append([parameter.grad for parameter in net.parameters()])
            net.zero_grad()
        return found, early

    in_buckets = on_workers(gradients, tmp_path / "buckets")
    monkeypatch.setattr(GradientExchange, "bucket_bytes", math.inf)
    (whole, at_the_end), _ = on_workers(gradients, tmp_path / "whole")
    assert at_the_end == [0] * len(reached)
    for found, _ in in_buckets:
        for ours, theirs in zip(found, whole):
            assert [grad is None for grad in ours] == [grad is None for grad in theirs]
            assert all(torch.equal(a, b) for a, b in zip(ours, theirs) if a is not None)
    # A bias and a weight for each layer, some of them together. The first of all is the last layer's, which no batch
    # reaches: it comes last from the second step on.
    (_, early), (_, other) = in_buckets
    assert early[0] == other[0] == 0 < early[1] == other[1]


def test_a_gradient_that_has_been_sent_does_not_change(tmp_path):
    def work(rank):
        net = layers()
        exchange = GradientExchange(net.parameters())
        exchange.begin()
        value = torch.ones(1, 20)
        for layer in net:
            value = layer(value)
        value.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="gradient"):
            value.sum().backward()

    on_workers(work, tmp_path)


def vocabulary(settings, folder: Path) -> None:
    build(settings, folder)


def test_all_workers_begin_as_the_first(tmp_path):
    def work(rank):
        net = torch.nn.BatchNorm1d(2)
        for tensor in (*net.parameters(), net.running_mean):
            tensor.data.fill_(rank + 3.0)
        take_from_first_worker(net)
        return weights(net)

    for found in on_workers(work, tmp_path):
        assert all(found[name].tolist() == [3.0, 3.0] for name in ("weight", "bias", "running_mean"))


EXACT = {"dropout": 0.0, "trainer__validation_metric": "-loss"}
PHASES = [{"epochs": 1, "train": "task_net", "energy": False}, {"epochs": 1, "train": "loss_net"}, {"restart": True}]
SCHEDULERS = {
    "trainer__task_net__learning_rate_scheduler": LINEAR,
    "trainer__loss_net__learning_rate_scheduler": PLATEAU,
}


@pytest.mark.parametrize(
    "size, more",
    [
        (2, {}),
        (4, {}),
        (2, {"trainer__loss_net__steps": 2, "trainer__task_net__steps": 2, "trainer__first": "task_net"}),
        (2, SCHEDULERS),
        (2, {"trainer__phases": PHASES}),
        # Its random vectors must be the same in all workers.
        (
            2,
            {
                "trainer__type": "implicit_gradient",
                "trainer__solver": {"type": "diagonal", "damping": 1.0, "max_steps": 3},
            },
        ),
    ],
    ids=["two", "four", "steps", "schedulers", "phases", "implicit"],
)
def test_workers_equal_one_process_with_the_joint_batch(tmp_path, size, more):
    """Of two, each takes every other instance: batches of 1 in each are batches of 2 in one."""
    more = {**more, "dataset_reader__predicate_instances": False, "dataset_reader__max_instances": 4}
    joint = config("margin", batch_size=size, epochs=3, **EXACT, **more)
    alone = build(joint, tmp_path)
    alone.model.double()
    metrics, _ = ended(alone)
    split = config("margin", batch_size=1, epochs=3, **EXACT, **more)

    def work(rank):
        trainer = build_worker(split, tmp_path / "workers", rank, size)
        trainer.model.double()
        return ended(trainer)

    vocabulary(joint, tmp_path / "workers")
    for found, reached in on_workers(work, tmp_path / "workers", size):
        assert distance(reached, weights(alone.model)) < 1e-9
        # A norm is that of the averaged gradient; losses are means over batches of one size.
        for name, value in metrics.items():
            # The batches of validation are not of one size, and each worker's draws are its own.
            drawn = ("loss", "loss_net_loss", "energy_gold", "energy_candidates")
            drawn += ("ranking_accuracy", "energy_alignment")
            if not name.endswith(tuple(f"validation_{value}" for value in drawn)):
                assert found[name] == pytest.approx(value, rel=1e-6), name


ALONE = {"dataset_reader__predicate_instances": False}
REUSED = {"trainer__reuse_features": True}
UNEVEN = {
    # One worker's batch has a row for the predicate finder, or no frame, and the other's has not.
    "mixed": {},
    "accumulation": {"trainer__num_gradient_accumulation_steps": 3, "trainer__loss_net__steps": 2},
    # 5 instances: 3 and 2.
    "uneven": {**ALONE, "trainer__first": "task_net"},
    "uneven_validation": {"batch_size": 2, "validation_dataset_reader__predicate_instances": False},
    "reuse": REUSED,
    "reuse_task_net_first": {**REUSED, "trainer__first": "task_net"},
    "implicit": {"trainer__type": "implicit_gradient", "model__energy_loss": {"type": "ranking"}},
    "uneven_implicit": {**ALONE, "trainer__type": "implicit_gradient"},
}


@pytest.mark.slow
@pytest.mark.parametrize("more", UNEVEN.values(), ids=UNEVEN)
def test_uneven_batches_neither_hang_nor_part_the_workers(tmp_path, more):
    settings = config(epochs=2, **{"batch_size": 1, **more})
    settings["validation_data_loader"] = {"batch_size": 1, "shuffle": False}

    def work(rank):
        return ended(build_worker(settings, tmp_path, rank))

    vocabulary(settings, tmp_path)
    (first, one), (second, other) = on_workers(work, tmp_path)
    assert same(one, other)
    assert first == second


def test_evaluation_is_of_all_workers_rows(tmp_path):
    settings = config("cross_entropy", batch_size=8, trainer__task_net__optimizer__lr=0.0)
    settings["validation_data_loader"] = {"batch_size": 1, "shuffle": False}
    # Untrained weights that say something.
    settings["pytorch_seed"] = 5

    def work(rank):
        return comparable(build_worker(settings, tmp_path, rank).train())

    alone = comparable(build(settings, tmp_path / "alone").train())
    vocabulary(settings, tmp_path)
    for found in on_workers(work, tmp_path):
        wanted = {k: v for k, v in alone.items() if "validation" in k}
        assert {"validation_predicate_f1", "validation_f1"} <= wanted.keys()
        assert {k: v for k, v in found.items() if "validation" in k} == pytest.approx(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [2, 5])
def test_killed_workers_recover_to_the_same_run(tmp_path, batch):
    """Each worker shuffles data of its own and drops units of its own."""
    settings = config(
        epochs=3,
        data_loader={"batch_size": 2, "shuffle": True},
        validation_data_loader={"batch_size": 2, "shuffle": True},
        trainer__checkpointer={"save_every_num_batches": 1},
        trainer__moving_average={"type": "exponential", "decay": 0.8},
    )

    def work(rank):
        whole = build_worker(settings, tmp_path / "whole", rank)
        # Workers of different shards are soon at different random numbers; here from the start.
        torch.manual_seed(rank)
        found = ended(whole)
        killed_worker(settings, tmp_path / "killed", batch, lambda: torch.manual_seed(rank), rank=rank)
        return found, ended(build_worker(settings, tmp_path / "killed", rank))

    for folder in ("whole", "killed"):
        vocabulary(settings, tmp_path / folder)
    for whole, recovered in on_workers(work, tmp_path):
        assert recovered[0] == whole[0]
        assert same(recovered[1], whole[1])


@pytest.mark.parametrize("nodes", [1, 2])
def test_each_worker_draws_candidates_of_its_own(tmp_path, nodes):
    """Of two nodes with one worker each, both are the first of their node, and have folders of their own."""
    settings = config()

    def work(rank):
        trainer = build_worker(settings, tmp_path / str(rank % nodes), rank, on_node=rank // nodes)
        with trainer.turns.stream.active():
            return torch.rand(8)

    for node in range(nodes):
        vocabulary(settings, tmp_path / str(node))
    first, second = on_workers(work, tmp_path)
    assert not torch.equal(first, second)


@pytest.mark.slow
def test_the_command(tmp_path):
    """
    `seal train --recover` with two CPU workers carries on a run of two workers that was killed. The workers, which
    import anew what the command has, are as quiet as that, in a folder without a plugins file, too.
    """
    settings = config(epochs=2, trainer__checkpointer={"save_every_num_batches": 1})

    def work(rank):
        whole = build_worker(settings, tmp_path / "whole", rank)
        found = ended(whole)
        killed_worker(settings, tmp_path / "killed", 3, rank=rank)
        return found

    for folder in ("whole", "killed"):
        vocabulary(settings, tmp_path / folder)
    whole, reached = on_workers(work, tmp_path)[0]

    settings["distributed"] = {"cuda_devices": [-1, -1]}
    del settings["trainer"]["cuda_device"]
    folder = tmp_path / "killed"
    Params(settings).to_file(str(folder / "config.json"))
    command = ["train", str(folder / "config.json"), "-s", str(folder), "--recover"]
    done = subprocess.run(
        [sys.executable, "-m", "seal", *command],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line.split(":")[0].endswith("model.tar.gz") for line in done.stdout.splitlines()] == [True, False]
    # Progress bars alone.
    assert "nltk" not in done.stderr and "Warning" not in done.stderr and "warning" not in done.stderr
    metrics = comparable(json.loads((folder / "metrics.json").read_text()))
    assert {"validation_f1", "validation_predicate_f1", "training_grad_norm_loss_net"} <= metrics.keys()
    assert metrics == whole
    assert same(torch.load(folder / "best.th"), reached)
    assert (folder / "model.tar.gz").exists()


# `trainer.shard_optimizer_states`: the run of whole states, with a part of them in each worker.


SHARDED = {"trainer__shard_optimizer_states": True}


def state_bytes(optimizer: TwoPlayerOptimizer) -> int:
    states = [state for player in optimizer.players.values() for state in player.state.values()]
    return sum(value.nbytes for state in states for value in state.values() if torch.is_tensor(value))


@pytest.mark.parametrize(
    "more",
    [
        {"trainer__num_gradient_accumulation_steps": 2},
        {"trainer__task_net__optimizer": {"type": "adamw", "lr": 5e-3, "parameter_groups": [[["bias"], {"lr": 1e-3}]]}},
        pytest.param(
            {"trainer__loss_net__optimizer": {"type": "sgd", "lr": 5e-3, "momentum": 0.9}, "trainer__use_amp": True},
            marks=needs_bfloat16_lstms,
        ),
        SCHEDULERS,
        {"trainer__phases": PHASES},
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
            results.append((*ended(trainer), state_bytes(trainer.optimizer)))
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
        found = ended(whole)
        killed_worker(settings, folder / "killed", 4, **place)
        continued = config(epochs=3, trainer__checkpointer={"save_every_num_batches": 1}, **then)
        trainer = build_worker(continued, folder / "killed", **place)
        assert isinstance(trainer.optimizer, ShardedOptimizer) == bool(then)
        return found, ended(trainer), (state_bytes(trainer.optimizer), state_bytes(whole.optimizer))

    for node in range(nodes):
        for folder in ("whole", "killed"):
            build(settings, tmp_path / str(node) / folder)
    for (metrics, reached), (again, reached_again), (size, part) in on_workers(work, tmp_path):
        assert metrics == again
        assert same(reached, reached_again)
        assert size == part if then else size > 1.6 * part


MULTI = {
    "type": "multi",
    "optimizers": {"default": {"type": "sgd", "lr": 0.1}, "first": {"type": "sgd", "lr": 0.1}},
    "parameter_groups": [[["bias"], {"optimizer_name": "first"}]],
}
IMPLICIT = {"trainer__type": "implicit_gradient", "model__energy_loss": {"type": "ranking"}}


@pytest.mark.parametrize(
    "more, key",
    [
        ({**SHARDED, "trainer__task_net__optimizer": MULTI}, "trainer.shard_optimizer_states"),
        ({**SHARDED, **IMPLICIT, "trainer__geometry": "adam"}, "trainer.shard_optimizer_states"),
        ({**IMPLICIT, "trainer__solver": {"type": "sherman_morrison"}}, "trainer.solver.type"),
        ({**IMPLICIT, "trainer__num_gradient_accumulation_steps": 2}, "trainer.num_gradient_accumulation_steps"),
    ],
    ids=["multi", "geometry", "examples", "accumulation"],
)
def test_what_workers_cannot_share_is_refused(tmp_path, more, key):
    settings = config(**more)

    def work(rank):
        with pytest.raises(ConfigurationError, match=key):
            build_worker(settings, tmp_path, rank)

    vocabulary(config(), tmp_path)
    on_workers(work, tmp_path)
