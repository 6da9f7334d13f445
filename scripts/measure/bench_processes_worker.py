"""A worker of the benchmark of several processes: it trains in groups of workers, one after the other."""

import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from allennlp.data import TensorDict
from allennlp.models import Model
from allennlp.training import Trainer

from scripts.measure.bench_base import Batches, build_trainer
from scripts.measure.bench_timing import Stopwatch, Timing, timed, train_epoch
from seal.training.devices import GradientExchange


class Variant(NamedTuple):
    processes: int
    #: On how many nodes they are: each node has a first process.
    nodes: int = 1
    #: Whether a turn's gradients are sent in one piece when it ends, in place of in buckets.
    at_the_end: bool = False
    #: With `trainer.shard_optimizer_states`.
    in_parts: bool = False
    #: Whether the workers are at different batches, so that one waits for another's longer sentences.
    unlike: bool = False
    #: Whether each trains a net of its own at the same time: what the machine allows, without an exchange.
    apart: bool = False


class Net(NamedTuple):
    #: Of the trainer.
    settings: dict[str, Any]
    model: Callable[[], Model]
    #: Those of an epoch.
    batches: list[TensorDict]
    #: Of a batch.
    rows: int


class InOnePiece(GradientExchange):
    """The gradients of a turn are sent when it ends."""

    bucket_bytes = math.inf


class Measured(NamedTuple):
    """Of an epoch of one worker: its time, what it spent in `GradientExchange.finish`, and the bytes of exchanges."""

    timing: Timing
    waited: float
    sent: int
    states: int


class Worker:
    def __init__(self, net: Net, rank: int, threads: int) -> None:
        torch.set_num_threads(threads)
        self._net, self._rank, self._model = net, rank, net.model()
        self._trainers: dict[Any, Trainer] = {}
        self._watch, self._sent = Stopwatch(), 0
        GradientExchange.finish = self._watch.wrap(GradientExchange.finish)
        for name in ("all_reduce", "broadcast"):
            setattr(dist, name, self._counted(getattr(dist, name)))

    def measure(self, variant: Variant, meeting: str) -> Measured:
        """An epoch in a group of workers that meet there, which all call this."""
        if variant.processes > 1:
            if variant.nodes > 1:
                os.environ["GLOO_SOCKET_IFNAME"] = "lo"
            dist.init_process_group("gloo", init_method=meeting, rank=self._rank, world_size=variant.processes)
        try:
            trainer = self._trainer(variant)
            if variant.processes > 1:
                dist.barrier()
            if variant.apart:
                dist.destroy_process_group()
            self._watch.seconds, self._sent = 0.0, 0
            timing = timed(lambda: train_epoch(trainer))
            found = [state for player in trainer.optimizer.players.values() for state in player.state.values()]
            states = sum(value.nbytes for state in found for value in state.values() if torch.is_tensor(value))
            return Measured(timing, self._watch.seconds, self._sent, states)
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()
                os.environ.pop("GLOO_SOCKET_IFNAME", None)

    def _trainer(self, variant: Variant) -> Trainer:
        """Variants with the same group and optimizers have one trainer; all have one model."""
        alone = variant.processes == 1 or variant.apart
        key = 1 if alone else variant.processes, variant.nodes, variant.in_parts
        if key not in self._trainers:
            changes = {"distributed": True, "world_size": variant.processes, "local_rank": self._rank // variant.nodes}
            changes = {} if alone else {**changes, "shard_optimizer_states": variant.in_parts}
            loader = Batches(self._net.batches)
            self._trainers[key] = build_trainer(self._net.settings, self._model, loader, cuda_device=-1, **changes)
        trainer = self._trainers[key]
        if not alone:
            kind = InOnePiece if variant.at_the_end else GradientExchange
            if type(next(iter(trainer._exchanges.values()))) is not kind:
                players = trainer.optimizer.players
                trainer._exchanges = {player: kind(trainer.optimizer.parameters(player)) for player in players}
        batches, first = self._net.batches, self._rank if variant.unlike else 0
        trainer.data_loader = Batches([batches[(first + place) % len(batches)] for place in range(len(batches))])
        return trainer

    def _counted(self, function: Callable) -> Callable:
        def counted(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            self._sent += tensor.nbytes
            return function(tensor, *args, **kwargs)

        return counted
