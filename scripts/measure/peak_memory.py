"""The peak memory of a process."""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import torch

MIB = 2**20


def peaks_of(work: Callable[[], object]) -> dict[str, float]:
    """`peak`, and `added`, the increase over the memory before, in MiB; with a GPU, both are the peak of its memory."""
    before = peak_memory()
    work()
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / MIB
        return {"peak": peak, "added": peak}
    return {"peak": peak_memory(), "added": peak_memory() - before}


def peak_memory() -> float:
    """
    The most memory that this process has held, in MiB. Linux's `ru_maxrss` is not suitable: a new process inherits its
    parent's value, which may be larger than the child's. `VmHWM` starts anew with each program.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024
