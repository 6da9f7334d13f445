"""`fine_tuned` of each library: a finished run's task-net is tuned for the least energy on the inputs of a file."""

import inspect
import json
import shutil
from pathlib import Path

import _jsonnet
import numpy
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

import seal.plugin  # noqa: F401
from seal.training import AlternatingTrainer, ImplicitGradientTrainer

ROOT = Path(__file__).parents[2]
LIBRARIES = ROOT / "training_configs" / "lib"
#: The file of the sample that is cut, the encoder, the method, and more arguments of an experiment.
CASES = {
    "srl": ("srl_sample/dev.gold_conll", "encoder=lib.encoder.bilstm(word_dim=4, hidden=4)", "margin()"),
    "text": (
        "text_sample/valid.jsonl",
        "encoder=lib.encoder.cnn(word_dim=4, filters=4, dropout=0), training=lib.training.sample",
        "margin()",
    ),
    "parsing": (
        "trees_sample/dev.mrg",
        "encoder=lib.encoder.bilstm(word_dim=4, hidden=4, decoder_dim=4)",
        "margin(share_encoder=false)",
    ),
    "multilabel": ("multilabel_sample/valid.arff", "encoder=lib.encoder.mlp(hidden_dim=8)", "margin(energy_weight=1)"),
    "segmentation": ("shapes_sample/valid.npz", "training={ crops: false }", "regression(energy_weight=1)"),
}


def of_library(library, expression):
    source = f"local lib = import '{(LIBRARIES / library).as_posix()}.libsonnet'; {expression}"
    return json.loads(_jsonnet.evaluate_snippet("test", source))


def few(library, folder):
    """A part of the sample's file."""
    source = ROOT / "data" / CASES[library][0]
    path = folder / source.name
    if library == "segmentation":
        with numpy.load(source) as arrays:
            numpy.savez(path, **{name: arrays[name][:5] for name in arrays.files})
    elif library == "multilabel":
        head, rows = source.read_text(encoding="utf-8").split("@data\n")
        path.write_text(f"{head}@data\n" + "".join(rows.splitlines(keepends=True)[:12]), encoding="utf-8")
        shutil.copy(source.parent / "labels.xml", folder)
    elif library == "srl":
        sentences = source.read_text(encoding="utf-8").split("\n\n")
        path.write_text("\n\n".join(sentences[:8]) + "\n", encoding="utf-8")
    else:
        path.write_text("".join(source.read_text(encoding="utf-8").splitlines(keepends=True)[:8]), encoding="utf-8")
    return path


def trained(settings, folder):
    settings["trainer"]["enable_default_callbacks"] = False
    torch.manual_seed(0)
    return train_model(Params(settings), str(folder))


@pytest.mark.parametrize("library", sorted(CASES))
def test_the_task_net_alone_goes_down_the_energy(library, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    path, (_, parts, method) = few(library, tmp_path), CASES[library]
    valid = "valid" if library in ("multilabel", "segmentation") else "dev"
    config = f"""
    local config = lib.experiment(
      data=lib.data.{"shapes" if library == "segmentation" else "sample"} {{ train: '{path}', {valid}: '{path}' }},
      method=lib.method.{method}, {parts}
    );
    """
    first = of_library(library, config + "config { trainer+: { num_epochs: 1, phases:: null } }")
    before = trained(first, tmp_path / "run")
    second = of_library(library, config + f"lib.fine_tuned(config, '{tmp_path}/run', '{path}', epochs=6)")
    assert second["train_data_path"] == str(path)
    trained(second, tmp_path / "tuned")
    after = torch.load(tmp_path / "tuned" / "best.th")
    start = before.state_dict()
    assert all(torch.equal(weight, after[name]) for name, weight in start.items() if name.startswith("loss_net."))
    told = [json.loads((tmp_path / "tuned" / f"metrics_epoch_{epoch}.json").read_text()) for epoch in (0, 5)]
    energies = [metrics["training_energy_prediction"] for metrics in told]
    assert energies[1] < energies[0]
    assert not any("cross_entropy" in name for name in told[0] if name.startswith("training_"))


@pytest.mark.parametrize("kind", ["supervised", "semi_supervised"])
def test_citations(kind, tmp_path):
    """Of all words of a file, whichever the run had tags of."""
    path = tmp_path / "references"
    path.write_text("R. author\nRose author\nSalt title\n1999 date\n\nIce title\n2001 date\n\n" * 4)
    (tmp_path / "words").write_text("Snow 2003\nWind and rain\n")
    method = "rewarded_cd(num_samples=2)" if kind == "semi_supervised" else "nce(num_samples=2)"
    unlabelled = f"{{ unlabelled: '{tmp_path}/words', plain_text: true }}" if kind == "semi_supervised" else "{}"
    config = f"""
    local config = lib.{kind}(
      lib.data.cora {{ train: '{path}', dev: '{path}' }} + {unlabelled}, labelled=2, method=lib.method.{method}
    );
    """
    trained(of_library("citation_tagging", config + "config { trainer+: { num_epochs: 1 } }"), tmp_path / "run")
    call = f"lib.fine_tuned(config, '{tmp_path}/run', '{path}', epochs=2)"
    tuned = of_library("citation_tagging", config + call)
    assert not {"labelled", "unlabelled", "plain_text", "max_instances"} & tuned["dataset_reader"].keys()
    trained(tuned, tmp_path / "tuned")
    told = json.loads((tmp_path / "tuned" / "metrics_epoch_1.json").read_text())
    assert "training_energy_prediction" in told and "training_cross_entropy" not in told


@pytest.mark.parametrize("library", ["tagging", "multilabel"])
def test_what_is_of_implicit_gradients_alone_is_left_out(library):
    """And nothing else, whatever settings are added later."""
    dropped = inspect.signature(ImplicitGradientTrainer.from_partial_objects).parameters.keys() - (
        inspect.signature(AlternatingTrainer.from_partial_objects).parameters.keys() - {"settings"}
    )
    assert {"unroll", "warm_start", "geometry", "outer_data_loader", "solver"} <= dropped
    given = ", ".join(f"{name}: 1" for name in sorted(dropped))
    arguments = "encoder=lib.encoder.bilstm(), " if library == "tagging" else ""
    plain, tuned = of_library(
        library,
        f"""local config = lib.experiment(data=lib.data.sample, {arguments}method=lib.method.implicit_cd());
        local more = config {{ trainer+: {{ {given} }} }};
        [config, lib.fine_tuned(more, 'runs/it', 'words')]""",
    )
    phase = {"num_epochs": 3, "phases": [{"train": "task_net", "supervised": False}]}
    kept = {name: setting for name, setting in plain["trainer"].items() if name not in dropped}
    assert tuned["trainer"] == {**kept, "type": "alternating", **phase}


def test_all_frames_of_a_file_count():
    experiment = "lib.experiment(lib.data.sample, lib.encoder.bilstm(), lib.method.nce(), { fraction: 0.1 })"
    tuned = of_library("srl", f"lib.fine_tuned({experiment}, 'runs/it', 'words')")
    assert "fraction" not in tuned["dataset_reader"]
