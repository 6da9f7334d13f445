"""`make test` is for the library: what the scripts do is tested by `make test-all`."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from scripts.measure import own_process
from tests import forked


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


@pytest.fixture
def memory_of_forks(monkeypatch):
    """
    For a test that asks whether memory is measured, not how much: processes of their own would import everything again.
    """
    if not torch.cuda.is_available():  # A fork cannot use what this process has used.
        monkeypatch.setattr(own_process, "subprocess", SimpleNamespace(run=forked.run))
