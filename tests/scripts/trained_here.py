"""Runs of `reproduce.py` that are trained in this process; in test_reproduce.py a killed one has its own, as in use."""

import contextlib
from collections.abc import Iterator

import pytest
from allennlp.commands.train import train_model_from_file
from allennlp.common import logging as allennlp_logging
from allennlp.common.util import import_module_and_submodules

from scripts.measure import provenance
from scripts.measure.runner import Runner
from tests.scripts.written_configs import ROOT


def _train(self, run, lock, recover):
    for package in run.suite.methods[run.method].packages:
        import_module_and_submodules(package)
    provenance.note_training(run.folder, recover, run.given, run.own)
    with contextlib.chdir(ROOT):  # Data paths of configs are relative to it.
        train_model_from_file(run.folder / "config.jsonnet", run.model, recover=recover, force=not recover)
    return 0


@contextlib.contextmanager
def trained_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "_train", _train)
        # It would take the log of this process.
        patch.setattr(allennlp_logging, "prepare_global_logging", lambda *_, **__: None)
        yield
