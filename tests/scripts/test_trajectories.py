"""scripts/trajectories.py: the numbers are those of the runs' files, means of several seeds, and mistakes."""

import csv
import json

import pandas
import pytest
from PIL import Image

from scripts import trajectories
from scripts.measure.trajectories import collect


def make_run(folder, accuracies, trace=(), finished=True, deep=False):
    """What `allennlp train` leaves; `deep`, as `scripts/reproduce.py` keeps it."""
    inside = folder / "model" if deep else folder
    inside.mkdir(parents=True)
    # Written backwards, and with more than nine epochs, the order of names is not that of epochs.
    for epoch, accuracy in reversed(list(enumerate(accuracies))):
        metrics = {"epoch": epoch, "validation_accuracy": accuracy, "training_duration": "0:00:14"}
        (inside / f"metrics_epoch_{epoch}.json").write_text(json.dumps(metrics))
    if trace:
        with (inside / "inference_networks.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["epoch", "batches", "l1", "l0", "energy_gradient_norm", "network_gradient_norm"])
            writer.writerows(trace)
    if finished:
        (inside / "metrics.json").write_text("{}")
    return folder


def lines_of(table, value, group):
    rows = table[(table["value"] == value) & (table["group"] == group)]
    return {run: dict(zip(line["at"], line["number"])) for run, line in rows.groupby("run", sort=False)}


def test_numbers_and_means(tmp_path):
    one = make_run(tmp_path / "one", [10.0 + i for i in range(12)])
    two = make_run(tmp_path / "two", [20.0, 40.0, 50.0], deep=True)
    alone = make_run(tmp_path / "alone", [7.0])
    groups = [f"no = truncation={one}, {two}", f"truncation={alone}"]
    assert trajectories.main([*groups, "--out", str(tmp_path / "out" / "tau_0.5")]) == 0
    table = pandas.read_csv(tmp_path / "out" / "tau_0.5.csv")
    assert list(table.columns) == ["value", "group", "run", "axis", "at", "number"]
    assert set(table["axis"]) == {"epoch"}
    found = lines_of(table, "validation_accuracy", "no = truncation")
    assert list(found) == [str(one), str(two), "mean"]
    assert found[str(one)] == {epoch: 9.0 + epoch for epoch in range(1, 13)}
    assert found[str(two)] == {1: 20.0, 2: 40.0, 3: 50.0}
    # As far as both go.
    assert found["mean"] == {1: 15.0, 2: 25.5, 3: 31.0}
    assert lines_of(table, "validation_accuracy", "truncation") == {str(alone): {1: 7.0}}
    with Image.open(tmp_path / "out" / "tau_0.5.png") as image:
        assert min(image.size) > 300


def test_traces_by_epoch_or_by_batch(tmp_path, capsys):
    epochs = make_run(tmp_path / "epochs", [1.0, 2.0], [(0, 4, 1.5, 0.5, 2, 3), (1, 8, 2.5, 0.25, 4, 5)])
    inside = make_run(tmp_path / "inside", [1.0], [(0, 2, 9.0, 1, 1, 1), (0, 4, 8.0, 1, 1, 1), (1, 6, 7.0, 1, 1, 1)])
    table = collect({"a": [epochs]}, {}, ["l1", "network_gradient_norm", "validation_accuracy"])
    assert lines_of(table, "l1", "a") == {str(epochs): {1: 1.5, 2: 2.5}}
    assert lines_of(table, "network_gradient_norm", "a") == {str(epochs): {1: 3.0, 2: 5.0}}
    table = collect({"a": [epochs, inside]}, {}, ["l1", "validation_accuracy"])
    assert dict(zip(table["value"], table["axis"])) == {"l1": "batches", "validation_accuracy": "epoch"}
    lines = lines_of(table, "l1", "a")
    assert lines[str(inside)] == {2: 9.0, 4: 8.0, 6: 7.0} and lines["mean"] == {4: 4.75}
    arguments = [f"a={epochs}", "--values", "l1,l0", "--out", str(tmp_path / "x")]
    assert trajectories.main(arguments) == 0
    assert "l1, a (1 run): 1.5 at epoch 1, 2.5 at 2; least 1.5, greatest 2.5" in capsys.readouterr().out


def test_a_value_of_a_groups_own(tmp_path):
    """A panel with what a run predicts and what inference in the same run would."""
    run = make_run(tmp_path / "run: 1", [1.0, 2.0])
    other = make_run(tmp_path / "other", [5.0, 7.0])
    for folder, numbers in ((run, (3.0, 4.0)), (other, (6.0, 9.0))):
        rows = [f"{epoch},{4 * epoch + 4},{number}" for epoch, number in enumerate(numbers)]
        (folder / "inference.csv").write_text("\n".join(["epoch,batches,from_random_f1", *rows]))
    groups = [f"task-net={run}", f"inference={run},{other}: from_random_f1", f"both={run},{other}"]
    assert trajectories.main([*groups, "--out", str(tmp_path / "out")]) == 0
    table = pandas.read_csv(tmp_path / "out.csv")
    assert set(table["value"]) == {"validation_accuracy"} and set(table["axis"]) == {"epoch"}
    assert lines_of(table, "validation_accuracy", "task-net") == {str(run): {1: 1.0, 2: 2.0}}
    assert lines_of(table, "validation_accuracy", "inference") == {
        str(run): {1: 3.0, 2: 4.0},
        str(other): {1: 6.0, 2: 9.0},
        "mean": {1: 4.5, 2: 6.5},
    }
    assert lines_of(table, "validation_accuracy", "both")["mean"] == {1: 3.0, 2: 4.5}


@pytest.mark.parametrize(
    "groups, values, words",
    [
        (["a={tmp}/nowhere"], "l1", ["there is no run", "nowhere"]),
        (["a={tmp}/unfinished"], "validation_accuracy", ["no finished run", "unfinished"]),
        (["a={tmp}/plain"], "l1", ["no 'l1'", "inference_networks.csv", "validation_accuracy"]),
        (["a={tmp}/plain:from_draw_f1"], "validation_accuracy", ["no 'from_draw_f1'", "inference.csv"]),
        (["a={tmp}/plain"], "training_duration", ["no 'training_duration'"]),
        (["a={tmp}/traced"], "l2", ["no 'l2'", "energy_gradient_norm, epoch, l0, l1"]),
        (["a={tmp}/traced", "b={tmp}/broken"], "l1", ["not JSON", "broken"]),
        (["{tmp}/plain"], "l1", ["NAME=RUN"]),
        (["a="], "l1", ["NAME=RUN"]),
        (["a={tmp}/plain", "a={tmp}/traced"], "l1", ["twice"]),
        (["a={tmp}/plain,{tmp}/plain"], "l1", ["twice"]),
        (["a={tmp}/plain"], ",", ["--values"]),
    ],
)
def test_mistakes_end_in_a_sentence(groups, values, words, tmp_path, capsys):
    make_run(tmp_path / "plain", [1.0])
    make_run(tmp_path / "unfinished", [1.0], finished=False)
    make_run(tmp_path / "traced", [1.0], [(0, 4, 1.5, 0.5, 2, 3)])
    broken = make_run(tmp_path / "broken", [1.0], [(0, 4, 1.5, 0.5, 2, 3)])
    (broken / "metrics_epoch_0.json").write_text("{")
    groups = [group.format(tmp=tmp_path) for group in groups]
    assert trajectories.main([*groups, "--values", values, "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    assert all(word in message for word in words)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "out, word", [("file/a", "is a file, not a folder"), ("taken", "taken.csv is a folder"), ("..", ".. is a folder")]
)
def test_a_name_that_no_file_can_have(out, word, tmp_path, capsys):
    make_run(tmp_path / "plain", [1.0])
    (tmp_path / "file").touch()
    (tmp_path / "taken.csv").mkdir()
    assert trajectories.main([f"a={tmp_path / 'plain'}", "--out", str(tmp_path / out)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: --out: ") and word in message and message.count("\n") == 1
