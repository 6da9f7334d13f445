"""`make test` is for the library: what the scripts do is tested by `make test-all`."""

import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from scripts.measure import own_process


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def threads():
    """Scripts set the number of torch's threads for the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def _forked(command, cwd, **_):
    """What `python -m MODULE ARGUMENTS` does, in a fork of this process, which has imported everything."""
    with tempfile.TemporaryFile("w+") as told:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.chdir(cwd)
                sys.argv, sys.stdout = command[2:], told
                runpy.run_module(command[2], run_name="__main__")
                status = 0
            except BaseException:
                traceback.print_exc(file=told)
            finally:
                told.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        told.seek(0)
        text = told.read()
    return subprocess.CompletedProcess(command, status, stdout=text, stderr=text)


@pytest.fixture
def memory_of_forks(monkeypatch):
    """
    For a test that asks whether memory is measured, not how much: processes of their own would import everything again.
    test_benchmark_text.py and test_benchmark_segmentation.py have those.
    """
    if not torch.cuda.is_available():  # A fork cannot use what this process has used.
        monkeypatch.setattr(own_process, "subprocess", SimpleNamespace(run=_forked))
