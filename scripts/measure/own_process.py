"""What has to be measured in a process of its own, which has done nothing else: peak memory."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from scripts.measure.suite import ROOT

STEPS = 3
"""The number of training steps whose peak memory is measured."""
MIB = 2**20


def in_own_process(module: str, *arguments: str) -> dict[str, float]:
    """What `python -m scripts.measure.MODULE ARGUMENTS` prints last, a JSON object."""
    command = [sys.executable, "-m", f"scripts.measure.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{module} {' '.join(arguments)} could not be measured:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def peaks_of(work: Callable[[], object]) -> dict[str, float]:
    """`peak`, and less what was held before it, `added`, in MiB; with a GPU, both are the peak of its memory."""
    import torch  # A parent that only starts processes does not need it.

    before = peak_memory()
    work()
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / MIB
        return {"peak": peak, "added": peak}
    return {"peak": peak_memory(), "added": peak_memory() - before}


def peak_memory() -> float:
    """
    The most memory that this process has held, in MiB. Linux's `ru_maxrss` is not suitable: a new process inherits
    that of its parent, so that a large parent hides what the child needs. `VmHWM` starts anew with each program.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024
