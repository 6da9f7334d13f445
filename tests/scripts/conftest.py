"""`make test` is for the library: what the scripts do is tested by `make test-all`."""

from pathlib import Path

import pytest
import torch


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
