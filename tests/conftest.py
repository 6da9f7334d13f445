"""What every test gets: the repository on the path, no model hub, few threads."""

import gc
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Of what is imported and collected nothing is garbage: looking for it took a third of the seconds of both.
gc.disable()

# Before torch and transformers are imported, and inherited by the commands that tests start.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("WANDB_MODE", "disabled")

# `scripts` has `seal_inspect`, which is installed as a package of its own.
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "scripts")) if path not in sys.path]

import torch  # noqa: E402

torch.set_num_threads(1)

from tests import quick_jsonnet  # noqa: E402

quick_jsonnet.install()

import logging  # noqa: E402
from functools import lru_cache  # noqa: E402

import pytest  # noqa: E402


@pytest.hookimpl(trylast=True)  # After the one of tests/scripts, which marks tests.
def pytest_collection_modifyitems(items):
    """First the files with slow tests or processes: the longest ones, of which none should be left for the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow and not hasattr(item.getparent(pytest.Module).obj, "subprocess"))


def pytest_collection_finish():
    """
    Each command, and each predictor of an archive, imports AllenNLP and its plugins, of which only the first time finds
    something; the others would take 0.2 seconds, as the caches of all folders of all packages are cleared 500 times.
    """
    gc.freeze()
    gc.enable()
    plugins = sys.modules.get("allennlp.common.plugins")
    if plugins is not None:
        imported = lru_cache(maxsize=None)(plugins.import_module_and_submodules)
        plugins.import_module_and_submodules = lambda name, exclude=(): imported(name, frozenset(exclude))


@pytest.fixture
def allennlp_logging(monkeypatch):
    """
    For a test that trains in this process: puts back what `prepare_global_logging` takes over for good (the
    root logger's handlers and level, the handlers of progress bars, and the hook for uncaught exceptions).
    """
    from allennlp.common.tqdm import logger as bars

    root = logging.getLogger()
    handlers, level, handlers_of_bars = list(root.handlers), root.level, list(bars.handlers)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    bars.handlers[:] = handlers_of_bars
