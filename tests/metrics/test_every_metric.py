import json

import torch.distributed as dist
import torch.multiprocessing as mp

from seal.metrics.monitors import gathered


def worker(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    # Values of different types and sizes.
    found = gathered({"a": [1, 2, 3]} if rank == 0 else None)
    with open(f"{folder}/{rank}.json", "w") as file:
        json.dump(found, file)
    dist.destroy_process_group()


def test_alone():
    value = object()
    assert gathered(value) == [value]


def test_two_workers_hear_both(tmp_path):
    mp.start_processes(worker, (str(tmp_path),), nprocs=2, start_method="fork")
    for rank in range(2):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == [{"a": [1, 2, 3]}, None]
