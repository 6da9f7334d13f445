"""Starts the workers of a distributed run, which wait up to `distributed.timeout` seconds for each other."""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Optional

import torch
import torch.distributed as dist
from allennlp.common import FromParams, Lazy, Params
from allennlp.common import logging as common_logging
from allennlp.common.plugins import import_plugins
from allennlp.common.util import find_open_port, import_module_and_submodules, prepare_environment
from allennlp.data import Vocabulary
from allennlp.nn.parallel import DdpAccelerator
from allennlp.training.util import make_vocab_from_params

from seal.allennlp.loading_order import end_with_the_parent
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)

_THIS_MACHINE = ("127.0.0.1", "0.0.0.0", "localhost")


@dataclass(frozen=True)
class Workers(FromParams):
    """The settings of the section `distributed` of a config; `timeout` is in seconds."""

    cuda_devices: list[int]
    num_nodes: int = 1
    primary_address: str = "127.0.0.1"
    primary_port: Optional[int] = None
    timeout: float = 120.0
    ddp_accelerator: Optional[Lazy[DdpAccelerator]] = None

    @property
    def size(self) -> int:
        return self.num_nodes * len(self.cuda_devices)


class Group(NamedTuple):
    """The address at which the workers meet, and the settings that each worker needs."""

    method: str
    workers: Workers
    node_rank: int
    packages: list[str]
    log_lines: bool


def group_of(section: dict[str, Any], node_rank: int, packages: list[str]) -> Group:
    """
    Makes the group of the section `distributed`, which `check` has accepted.

    # Raises

    `ConfigurationError` if workers on several machines have no `primary_port`. On one machine it is chosen.
    """
    workers = Workers(**section)
    address, port = workers.primary_address, workers.primary_port
    if port is None and address not in _THIS_MACHINE:
        raise ConfigurationError(f'config key "distributed.primary_port" is missing, the port on {address}')
    method = f"tcp://{address}:{port or find_open_port()}"
    return Group(method, workers, node_rank, packages, common_logging.FILE_FRIENDLY_LOGGING)


def run_workers(group: Group, work: Callable[..., None], params: Params, folder: str, recover: bool, dry: bool) -> None:
    """
    Makes the vocabulary, which a worker could not make from its part of the data. Then it runs `work(params, folder,
    dry, rank, accelerator)` in a process for each device of this node, and waits for the processes.
    """
    workers = group.workers
    common_logging.prepare_global_logging(folder, rank=0, world_size=1)
    files = os.path.join(folder, "vocabulary")
    if recover:
        vocab = Vocabulary.from_files(files)
    else:
        vocab = make_vocab_from_params(params.duplicate(), folder, print_statistics=dry)
    params["vocabulary"] = {
        "type": "from_files",
        "directory": files,
        "padding_token": vocab._padding_token,
        "oov_token": vocab._oov_token,
    }
    logger.info("%d workers on %d nodes meet at %s", workers.size, workers.num_nodes, group.method)
    arguments = (group, work, params.duplicate(), folder, dry)
    torch.multiprocessing.spawn(_run_worker, args=arguments, nprocs=len(workers.cuda_devices))


def _run_worker(rank: int, group: Group, work: Callable[..., None], params: Params, folder: str, dry: bool) -> None:
    workers = group.workers
    # When the command is killed, PyTorch sends SIGINT, which a process ignores if a shell script started it with `&`.
    end_with_the_parent("spawn")
    common_logging.FILE_FRIENDLY_LOGGING = group.log_lines
    common_logging.prepare_global_logging(folder, rank=rank, world_size=workers.size)
    prepare_environment(params)
    # A spawned process has imported nothing that the command has imported.
    import_plugins()
    for package in group.packages:
        import_module_and_submodules(package)
    device = workers.cuda_devices[rank]
    os.environ["ALLENNLP_PROCS_PER_NODE"] = str(len(workers.cuda_devices))
    given: dict[str, Any] = {"local_rank": rank, "cuda_device": device, "world_size": workers.size}
    params["trainer"].update({**given, "distributed": True})
    if device >= 0:
        torch.cuda.set_device(device)
    _meet(group.method, workers, group.node_rank * len(workers.cuda_devices) + rank)
    settings: Any = workers.ddp_accelerator  # The object of the config.
    accelerator = None if settings is None else DdpAccelerator.from_params(Params(settings), **given)
    work(params, folder, dry, rank, accelerator)


def _meet(method: str, workers: Workers, rank: int) -> None:
    """
    Joins the group of workers that meet at `method`, with this rank.

    # Raises

    `ConfigurationError` if some workers do not come in time.
    """
    try:
        dist.init_process_group(
            "nccl" if max(workers.cuda_devices) >= 0 else "gloo",
            init_method=method,
            world_size=workers.size,
            rank=rank,
            timeout=timedelta(seconds=workers.timeout),
        )
    except RuntimeError as error:  # `DistStoreError` is one.
        raise ConfigurationError(
            f"worker {rank} on {socket.gethostname()}: not all of {workers.size} workers met at {method} within "
            f"{workers.timeout:g} s (distributed.timeout); start the command on every node, each with its --node-rank"
        ) from error
