"""`predict` of `seal`, and of AllenNLP, with multi-label models."""

import json
import os
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from allennlp.commands import main as main_of_allennlp
from allennlp.models import load_archive
from allennlp.models.archival import archive_model
from allennlp.predictors import Predictor

from seal.cli.main import main
from seal.tasks.multilabel import MultilabelPredictor
from tests.multilabel import ROWS, seal_parts, write_data
from tests.tasks.multilabel.nets import net


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A folder with an archive and its data."""
    folder = tmp_path_factory.mktemp("run")
    data = write_data(folder)
    made = net()
    reader = {"type": "seal_multilabel", **data["reader"], "standardize": True}
    parts = {"type": "seal_multilabel", "output_space": {"type": "label_set"}, **seal_parts()}
    (folder / "config.json").write_text(json.dumps({"dataset_reader": reader, "model": parts}))
    made.vocab.save_to_files(str(folder / "vocabulary"))
    torch.save(made.state_dict(), folder / "best.th")
    archive_model(str(folder))
    return folder


LINES = ['{"id": "a", "features": [2.5, 1, null]}', " ", '{"features": {"ripe": 3}}', '{"features": [1]}', "{"]


def check(records, folder):
    loaded = Predictor.from_archive(load_archive(folder / "model.tar.gz"), extra_args={"energy": True})
    assert isinstance(loaded, MultilabelPredictor)
    assert len(records) == 4
    assert [record.pop("line") for record in records] == [1, 3, 4, 5]
    # The features of an object without an id stand for it.
    assert [record.pop("input", None) for record in records] == [None, {"ripe": 3}, [1], None]
    for record, line in zip(records, (LINES[0], LINES[2])):
        expected = loaded.predict_json(json.loads(line))
        assert list(record) == list(expected)
        assert record["labels"] == pytest.approx(expected["labels"], abs=1e-6)
        assert record["energy"] == pytest.approx(expected["energy"], abs=1e-5)
    assert records[0]["id"] == "a" and records[0]["labels"]
    assert records[2]["error"].startswith("line 4: ") and records[3]["error"].startswith("line 5: ")


def test_the_command_of_allennlp_gives_the_same_records(run_folder, tmp_path, monkeypatch, capsys):
    """A process of its own has the test of roles. Blank lines are left out, and not counted."""
    (tmp_path / "in.jsonl").write_text("\n".join(line for line in LINES if line != " ") + "\n")
    given = [str(run_folder / "model.tar.gz"), str(tmp_path / "in.jsonl"), "--output-file", str(tmp_path / "out.jsonl")]
    energies = ["--predictor-args", '{"energy": true}']
    monkeypatch.setattr(sys, "argv", ["allennlp", "predict", *given, *energies])
    main_of_allennlp()
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    found = command(run_folder, tmp_path / "in.jsonl", tmp_path / "ours.jsonl", "--batch-size", "1", *energies)
    assert [json.loads(line) for line in lines] == found
    console = [line for line in capsys.readouterr().out.splitlines() if line.startswith("prediction: ")]
    assert [line.split(" ", 1)[1].strip() for line in console] == lines


def command(folder, path, output, *arguments):
    given = [str(folder / "model.tar.gz"), str(path), "--silent", "--output-file", str(output)]
    try:
        main(["predict", *given, *arguments])
    except SystemExit as ended:
        assert ended.code == 3
    return [json.loads(line) for line in output.read_text().splitlines()]


@pytest.mark.parametrize("size", ["1", "64"])
def test_predict_in_silence_and_in_batches(run_folder, tmp_path, size):
    (tmp_path / "in.jsonl").write_text("\n".join(LINES))
    arguments = ["--batch-size", size, "--predictor-args", '{"energy": true}']
    check(command(run_folder, tmp_path / "in.jsonl", tmp_path / "out.jsonl", *arguments), run_folder)


@pytest.mark.parametrize("size", ["1", "3"])
def test_predict_of_a_data_file(run_folder, tmp_path, size):
    path = run_folder / "fruit.arff"
    records = command(run_folder, path, tmp_path / "out.jsonl", "--use-dataset-reader", "--batch-size", size)
    loaded = Predictor.from_path(run_folder / "model.tar.gz")
    raw = [[2.5, 1, None], [-1, 0.5, 3], [0, 2, 1], [4, -1, 2], [1, 3, 0]]
    assert len(records) == len(ROWS)
    for number, (record, row) in enumerate(zip(records, raw), start=9):
        assert record["id"] == f"{path}:{number}"
        assert record["labels"] == pytest.approx(loaded.predict(row)["labels"], abs=1e-6)
    # AllenNLP's `forward_on_instances` gives the same labels.
    instances = list(loaded._dataset_reader.read(str(path)))
    for record, output in zip(records, loaded._model.forward_on_instances(instances)):
        assert set(record["labels"]) == set(output["labels"])


@pytest.mark.slow
def test_an_engine_that_loses_a_worker_has_each_line_once_and_in_order(run_folder, tmp_path, monkeypatch):
    """The function and the call of docs/python.md, on two processes of Dask, one of which is killed in the middle."""
    distributed = pytest.importorskip("distributed", reason="Dask is in requirements-measure.txt alone")
    import dask.bag

    page = (Path(__file__).resolve().parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n([^`]*def records\(lines\).*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    (call,) = re.findall(r"`(dask\.bag\.[^`]+)`", page)
    # As in a user's own program, whose functions are sent to the workers.
    found = {"__name__": "__main__", "dask": dask}
    archive = str(run_folder / "model.tar.gz")
    exec(program.replace("runs/nce/model.tar.gz", archive), found)
    lines = [json.dumps({"id": str(number), "features": {"ripe": number / 100}}) for number in range(600)]
    lines[7], lines[-3] = '{"id": "7"', " "
    monkeypatch.chdir(tmp_path)
    Path("lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor() as threads,
    ):
        processes = client.run(os.getpid)
        writes = threads.submit(eval, call.replace("16MiB", "4KiB"), found)
        while not writes.done() and not any(Path().glob("out/*")):
            time.sleep(0.05)
        at_work = [worker for worker, tasks in client.processing().items() if tasks]
        os.kill(processes[at_work[0]], signal.SIGKILL)
        assert not writes.done()
        parts = writes.result(timeout=1200)
        assert processes[at_work[0]] not in client.run(os.getpid).values()
    assert len(parts) > 5
    records = [[json.loads(line) for line in Path(part).read_text(encoding="utf-8").splitlines()] for part in parts]
    assert [record.pop("line") for part in records for record in part] == [
        number for part in records for number in range(1, len(part) + 1)
    ]
    records = [record for part in records for record in part]
    loaded = Predictor.from_path(archive)
    expected = loaded.predict_batch_json([loaded.load_line(line) for line in lines])
    assert len(records) == len(lines) and "error" in records[7] and "error" in records[-3]
    for record, wanted in zip(records, expected):
        if "error" not in wanted:
            assert record["id"] == wanted["id"] and record["labels"] == pytest.approx(wanted["labels"], abs=1e-6)
