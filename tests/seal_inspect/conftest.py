"""Taggers for the tests of the sub-commands, trained once for all of them."""

import json
import sys
from pathlib import Path

import pytest
from allennlp.commands import main
from allennlp.commands.train import train_model
from allennlp.common import Params

from seal.cli.train import train
from seal_inspect import compare_networks, demo, label_interactions, report, tag_interactions  # noqa: F401
from tests.training.runs import config

ROOT = Path(__file__).parents[2]


def trained(name, folder, data, epochs=1, energies=None):
    """The archive of a run of the config of this name, on other data than its own."""
    params = Params.from_file(str(ROOT / "training_configs" / f"{name}.jsonnet")).as_dict(quiet=True)
    if energies is not None:
        params["model"]["loss_net"]["energies"] = energies
    params["trainer"]["num_epochs"] = epochs
    params["train_data_path"] = params["validation_data_path"] = str(data)
    train_model(Params(params), str(folder))
    return folder / "model.tar.gz"


@pytest.fixture(scope="session")
def tagged(tmp_path_factory):
    source = (ROOT / "data" / "tagging_sample" / "train.tsv").read_text()
    path = tmp_path_factory.mktemp("few") / "few.tsv"
    path.write_text("\n\n".join(source.split("\n\n")[:40]) + "\n")
    return path


@pytest.fixture(scope="session")
def tagger(tagged, tmp_path_factory):
    """
    A function that takes the name of a config, and other energies than the config's, other data than `tagged` or more
    epochs than one if wanted, and gives the archive of the run.
    """
    found = {}

    def train(name, energies=None, data=tagged, epochs=1):
        wanted = (name, json.dumps(energies), data, epochs)
        if wanted not in found:
            found[wanted] = trained(name, tmp_path_factory.mktemp(name) / "run", data, epochs, energies)
        return found[wanted]

    return train


@pytest.fixture
def run(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["allennlp", *map(str, arguments)])
        main()

    return run


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """A function that trains a method of `tests.training.runs` for two epochs on its fixture, and gives the folder."""
    found = {}

    def run_of(method):
        if method not in found:
            found[method] = tmp_path_factory.mktemp("small") / method
            train(config(method=method, epochs=2), str(found[method]))
        return found[method]

    return run_of


@pytest.fixture
def widths(monkeypatch):
    """The widths of all beam searches for trees in a test."""
    import seal.tasks.parsing.model
    from seal.nets import tree_beam

    widths = []

    def counted(task_net, space, inputs, beam):
        widths.append(beam)
        return tree_beam(task_net, space, inputs, beam)

    monkeypatch.setattr(seal.tasks.parsing.model, "tree_beam", counted)
    return widths
