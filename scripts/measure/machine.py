"""The machine, the libraries and the commit of a measurement."""

import os
import platform
import subprocess
from pathlib import Path

from scripts.measure.suite import ROOT


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine() -> str:
    """The processor, its cores, and the GPU where there is one."""
    import torch

    parts: list[str] = [f"{cpu_model()}, {os.cpu_count()} cores"]
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name(0))
    return "; ".join(parts)


def commit() -> str:
    """The commit that is checked out, and whether tracked files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + (", with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no git)"


def torch_version() -> str:
    import torch

    return torch.__version__
