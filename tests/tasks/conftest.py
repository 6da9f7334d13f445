"""What the tests of tasks share: files, and small models that have memorised the three sentences of a fixture."""

import gzip
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Union

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.predictors import Predictor

import seal.plugin  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
KITCHEN = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"

CONFIG = """
local srl = import '%(library)s';
srl.experiment(
  data={ train: '%(data)s', dev: '%(data)s' },
  encoder=srl.encoder.bilstm(word_dim=16, hidden=24, dropout=0.0),
  method=srl.method.%(method)s,
  energies=srl.energies(hidden_dim=16),
  training=srl.training.default { epochs: 30, batch_size: 4, task_net_lr: 2e-2, scheduler: null },
) + { vocabulary: {} }
"""


def train(folder: Path, method: str) -> Path:
    config = folder / "config.jsonnet"
    library = ROOT / "training_configs" / "lib" / "srl.libsonnet"
    config.write_text(CONFIG % {"library": library, "data": KITCHEN, "method": method})
    # Training permanently replaces the handlers of the root logger and the hook for uncaught exceptions. The fixture
    # `allennlp_logging` restores them after one test, but these fixtures are for the whole session.
    root, hook = logging.getLogger(), sys.excepthook
    handlers, level = list(root.handlers), root.level
    try:
        train_model(Params.from_file(str(config)), str(folder / "run"), force=True)
    finally:
        for handler in root.handlers:
            if handler not in handlers:
                handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        sys.excepthook = hook
    return folder / "run" / "model.tar.gz"


@pytest.fixture(scope="session")
def archive(tmp_path_factory) -> Path:
    """A model with a loss-net."""
    return train(tmp_path_factory.mktemp("nce"), "nce(num_samples=3)")


@pytest.fixture(scope="session")
def crf_archive(tmp_path_factory) -> Path:
    """A model without a loss-net."""
    return train(tmp_path_factory.mktemp("crf"), "crf()")


@pytest.fixture(scope="session")
def predictor(archive) -> Predictor:
    return Predictor.from_path(archive, predictor_name="seal_srl", energy=True)


@pytest.fixture
def write(tmp_path) -> Callable[[str, Union[str, bytes]], str]:
    """Writes a file, text packed where the name ends in `.gz` and bytes as they are, and gives its path."""

    def write_file(name: str, content: Union[str, bytes]) -> str:
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
            content = gzip.compress(content) if name.endswith(".gz") else content
        path.write_bytes(content)
        return str(path)

    return write_file
