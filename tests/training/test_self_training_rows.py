"""Self-training of feature vectors: what the student sees, that labels of the inputs are not read, kills."""

import json
from collections import Counter

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.multilabel import MultilabelReader
from seal.dataset_readers.tensor_loader import TensorLoader
from seal.models import MultilabelModel
from seal.training.taught_rows import InputRows, TaughtTable
from tests.multilabel import ROWS, run_settings, vocabulary, write_data
from tests.training.runs import Killed, build, comparable, elsewhere, same, weights
from tests.training.test_self_training import KillStudent

NEW = [f"{i},0,{i / 4},0,0,{-i}" for i in range(4, 10)]
TASK_NET = {"encoder": {"type": "feature_mlp", "hidden_dim": 4, "num_layers": 1, "dropout": [0.2]}, "bias": False}


def settings(folder, labels=(0, 0, 0), structure=False, data_loader=None, **trainer):
    """A run on `ROWS`, and a file of these and of six others, whose labels are as given."""
    data = write_data(folder)
    inputs = write_data(folder, [*ROWS, *((features, labels) for features in NEW)], "inputs.arff")["path"]
    parts = {"task_net": TASK_NET, **({"structure": {"type": "label_sets"}} if structure else {})}
    return run_settings(
        data,
        parts,
        data_loader or {"batch_size": 2, "shuffle": True, "batches_per_epoch": 5},
        num_epochs=3,
        validation_metric="+f1",
        task_net={"optimizer": {"type": "fused_adamw", "lr": 0.05}},
        self_training={"unlabelled": inputs},
        **({"folds": 2} if structure else {}),
        **trainer,
    )


def test_rows_of_gold_and_rows_that_are_taught(tmp_path):
    data = write_data(tmp_path)
    reader = MultilabelReader(label_xml=data["reader"]["label_xml"], missing="zero")
    loader = TensorLoader(reader, data["path"], batch_size=3)
    loader.index_with(vocabulary())
    gold, _ = loader.table_and_rows()
    other = write_data(tmp_path, [(features, (0, 0, 0)) for features in NEW], "inputs.arff")
    table = reader.read_inputs(other["path"])
    table.index_with(vocabulary())
    inputs = InputRows([(gold, numpy.array([2])), (table, numpy.array([1, 3]))])
    own, taught = [[0, 0, 1]] * 4, [[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]]
    outputs = torch.tensor([own, taught, [[0, 1, 0]] * 4], dtype=torch.int16)
    table = TaughtTable(gold, numpy.array([0, 4, 0, 4]), inputs, outputs)
    taught = loader.with_table(table)
    assert taught.num_rows == 7 and len(taught) == 3
    torch.manual_seed(0)
    counts = Counter()
    for _ in range(400):
        batches = list(taught)
        features = torch.cat([batch["features"] for batch in batches])
        labels = torch.cat([batch["labels"] for batch in batches])
        assert labels[:4].tolist() == [list(ROWS[row][1]) for row in (0, 4, 0, 4)]
        assert features[:, 0].tolist() == [1, 3, 1, 3, 2, 5, 7]
        assert labels[4].tolist() == [0, 0, 1] and labels[6].tolist() == [0, 1, 0]
        counts[tuple(labels[5].tolist())] += 1
    # 400 draws: a deviation of 10 at most.
    assert abs(counts[1, 0, 0] - 200) < 40 and abs(counts[0, 1, 1] - 100) < 40 and abs(counts[0, 0, 0] - 100) < 40
    # Rows of both kinds in one batch, in any order.
    mixed = table.batch(numpy.array([6, 0, 4]))
    assert mixed["features"][:, 0].tolist() == [1, 2, 7]
    assert mixed["labels"].tolist() == [list(ROWS[0][1]), [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("structure", [False, True])
def test_labels_of_the_inputs_are_not_read_and_known_rows_are_left_out(tmp_path, monkeypatch, structure):
    seen = []
    original = MultilabelModel.task_state

    def watched(self, features, labels=None, metadata=None):
        if not self.training and labels is None:
            seen.append(features)
        return original(self, features, labels, metadata)

    monkeypatch.setattr(MultilabelModel, "task_state", watched)
    found = []
    for number, labels in enumerate([(0, 0, 0), (1, 0, 1)]):
        run = settings(tmp_path, labels, structure)
        trainer = build(run, tmp_path / str(number))
        metrics = comparable(trainer.train())
        found.append((metrics, weights(trainer.model), torch.load(tmp_path / str(number) / "student" / "best.th")))
    assert torch.cat(seen)[:, 0].tolist() == [4, 5, 6, 7, 8, 9] * 2
    assert found[0][0] == found[1][0] and same(found[0][1], found[1][1]) and same(found[0][2], found[1][2])
    report = json.loads((tmp_path / "0" / "self_training.json").read_text())
    assert report["inputs"] == 6
    kept = found[0][2] if report["kept"] == "student" else torch.load(tmp_path / "0" / "best.th")
    assert all(torch.equal(found[0][1][name], kept[name]) for name in kept if name.startswith("task_net"))


@pytest.mark.parametrize("at", [(False, 7), (True, 8)])
def test_a_killed_run_ends_as_one_that_was_not(tmp_path, at):
    run = settings(tmp_path, callbacks=[{"type": "kill_student"}], checkpointer={"save_every_num_batches": 1})
    whole = build(run, tmp_path / "whole")
    metrics = comparable(whole.train())
    KillStudent.at = at
    with pytest.raises(Killed):
        build(run, tmp_path / "killed").train()
    assert KillStudent.at is None
    elsewhere()
    trainer = build(run, tmp_path / "killed")
    assert comparable(trainer.train()) == metrics and same(weights(trainer.model), weights(whole.model))


def test_a_distilled_net_predicts_alone(tmp_path, monkeypatch):
    run = settings(tmp_path, structure=True)
    run["trainer"]["self_training"] = {"distil": True}
    trainer = build(run, tmp_path / "run")
    trainer.train()
    report = json.loads((tmp_path / "run" / "self_training.json").read_text())
    # The inputs of the training data.
    assert report["inputs"] == 5 and report["kept"] == "student"
    structure = trainer.model.structure
    assert structure.is_fitted and not any(map(structure.is_followed, structure.chosen))
    kept, student = torch.load(tmp_path / "run" / "best.th"), torch.load(tmp_path / "run" / "student" / "best.th")
    assert all(torch.equal(kept[name], student[name]) for name in student if name.startswith("task_net"))


def test_settings_that_cannot_work(tmp_path):
    run = settings(tmp_path)
    run["trainer"]["self_training"] = {"plain_text": True}
    with pytest.raises(ConfigurationError, match="name the inputs, or set distil to true"):
        build(run, tmp_path / "none")
    run = settings(tmp_path)
    run["trainer"]["self_training"]["plain_text"] = True
    with pytest.raises(ConfigurationError, match="feature vectors are no text"):
        build(run, tmp_path / "text")
    run = settings(tmp_path, data_loader={"batch_size": 2})
    run["trainer"]["self_training"]["unlabelled"] = run["train_data_path"]
    with pytest.raises(ConfigurationError, match="no input that the training data lack"):
        build(run, tmp_path / "known")
    del run["data_loader"]["type"]
    with pytest.raises(ConfigurationError, match="set data_loader.type to 'tensors'"):
        build(run, tmp_path / "instances")
