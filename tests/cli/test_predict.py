"""The loop of `seal predict`. The sentences for wrong options are tested in `tests/user_errors`."""

import argparse
import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from argparse import Namespace

import pytest

import seal.plugin  # noqa: F401
from seal.cli import predict as command
from seal.cli.predict import write_records
from seal.files.input_lines import Shard
from seal.registry import ConfigurationError
from seal.tasks.base import pipeline
from seal.tasks.base.pipeline import Pipeline
from seal.tasks.base.records import readable
from tests.tasks.multilabel.nets import predictor


class Echo:
    """Stands in for a predictor: a line `x` is wrong."""

    lines_at_once = 7

    def load_line(self, line):
        return {"text": line.strip()}

    def predict_json(self, inputs):
        return {"error": "line 2: wrong"} if inputs["text"] == "x" else {"text": f'"error": {inputs["text"]}'}

    def predict_batch_json(self, inputs):
        return [self.predict_json(item) for item in inputs]

    def dump_line(self, outputs):
        return json.dumps(outputs) + "\n"


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return parser.parse_args(["predict", "model", *arguments])


@pytest.fixture
def run(monkeypatch):
    """Runs the sub-command with another predictor in place of the model's, and gives its exit status."""

    def run(one, *arguments):
        args = parsed(*arguments)
        monkeypatch.setattr(command, "load_model", lambda args: None)
        monkeypatch.setattr(command.Pipeline, "of_archive", lambda *_: Pipeline(one))
        try:
            args.func(args)
        except SystemExit as ended:
            return ended.code
        return 0

    return run


def _predict_until_killed(path, output):
    echo = Echo()

    def predict_json(record):
        if record["text"] == "3":
            os.kill(os.getpid(), signal.SIGKILL)
        return record

    echo.predict_json = predict_json
    write_records(Pipeline(echo), Pipeline(echo).lines(path), 1, output, None)


def test_what_is_predicted_survives_a_kill(tmp_path):
    (tmp_path / "input.txt").write_text("".join(f"{number}\n" for number in range(5)))
    paths = str(tmp_path / "input.txt"), str(tmp_path / "output.jsonl")
    process = multiprocessing.get_context("fork").Process(target=_predict_until_killed, args=paths)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert [json.loads(line)["text"] for line in open(paths[1])] == ["0", "1", "2"]


# Prints by how many MiB an LSTM's memory grows over sentences of 300 lengths.
_MANY_LENGTHS = """
from pathlib import Path

import torch

from seal.cli.predict import limit_onednn_cache

limit_onednn_cache()
lstm = torch.nn.LSTM(64, 100, batch_first=True, bidirectional=True, num_layers=2).eval()


def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


@torch.no_grad()
def run(length):
    lstm(torch.nn.utils.rnn.pack_padded_sequence(torch.zeros(1, length, 64), [length], batch_first=True))


run(400)
before = memory()
for length in range(100, 400):
    run(length)
print(memory() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="there is no /proc here to tell the memory")
def test_memory_does_not_grow_with_the_number_of_lengths():
    environment = {name: value for name, value in os.environ.items() if name != command.PROGRAMS}
    program = [sys.executable, "-c", _MANY_LENGTHS]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout.splitlines()[-1]) < 60


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_the_outputs_of_shards_are_that_of_the_file(run, tmp_path, count):
    path, output = tmp_path / "input.jsonl", tmp_path / "output.jsonl"
    # The first line has a byte order mark; the third is blank, the fourth wrong, and the last has no end.
    rows = [b'\xef\xbb\xbf{"features": {}}\n', b'{"features": {"ripe": 2}}\r\n', b" \n", b"{\n"]
    path.write_bytes(b"".join([*rows, b'{"id": 5, "features": {}}\n{"features": 1}']))

    def written(*shard):
        assert run(predictor(), str(path), "--output-file", str(output), "--silent", *shard) in (0, 3)
        return output.read_text()

    whole = written()
    assert [json.loads(line)["line"] for line in whole.splitlines()] == [1, 2, 4, 5, 6]
    assert "".join(written("--shard", f"{number}/{count}") for number in range(1, count + 1)) == whole


def test_shards_of_a_csv_file_are_rows(tmp_path):
    # The second row has two lines, and there is a blank one.
    (tmp_path / "input.csv").write_text('id,text\n1,a\n2,"b\nb"\n\n3,c\n')
    keeper = Namespace(load_line=lambda line: (line.number, json.loads(line)["id"]))
    found = [
        [row for row, _ in Pipeline(keeper).lines(str(tmp_path / "input.csv"), Shard(number, 2))] for number in (1, 2)
    ]
    assert found == [[(2, "1")], [(3, "2"), (6, "3")]]


@pytest.mark.parametrize("asked", [["-"], ["lines.txt", "--use-dataset-reader"]])
def test_a_shard_is_one_of_the_lines_of_a_file(asked):
    with pytest.raises(ConfigurationError, match="--shard"):
        command.predict(parsed(*asked, "--shard", "1/2"))


@pytest.mark.parametrize("asked, size", [(["{}"], 7), (["-"], 1), (["{}", "--batch-size", "3"], 3)])
def test_lines_of_a_file_are_predicted_many_at_once(run, tmp_path, monkeypatch, asked, size):
    (tmp_path / "lines.txt").write_text("a\n" * 21)
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n" * 21))
    echo, sizes = Echo(), []
    echo.predict_batch_json = lambda inputs: sizes.append(len(inputs)) or inputs
    echo.predict_json = lambda inputs: sizes.append(1) or inputs
    run(echo, *(word.format(tmp_path / "lines.txt") for word in asked))
    assert sizes == [size] * (21 // size)


def test_long_lines_are_predicted_a_few_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "MOST_CHARACTERS_AT_ONCE", 60)
    rows = ['{"features": {}}\n', '{"features": {}}\n', '{"features": {}%s}\n' % (" " * 50), '{"features": {}}\n']
    (tmp_path / "input.jsonl").write_text("".join(rows))
    one, sizes = predictor(), []
    of_one = one.predict_batch_json
    monkeypatch.setattr(one, "predict_batch_json", lambda inputs: sizes.append(len(inputs)) or of_one(inputs))
    write_records(Pipeline(one), Pipeline(one).lines(str(tmp_path / "input.jsonl")), 64, None, None)
    assert sizes == [3, 1]


def test_the_output_of_an_earlier_run_is_emptied_where_there_are_no_records(tmp_path):
    output = tmp_path / "output.jsonl"
    output.write_text("all of it\n")

    def none():
        assert output.read_text() == "all of it\n"
        yield from ()

    write_records(Pipeline(Echo()), none(), 1, str(output))
    assert output.read_text() == ""


@pytest.mark.parametrize(
    "rows, told",
    [
        (['{"features": {}}', '{"features": {}}'], None),
        # One line is an error of its form, the other of what it asks for. Predicted two at a time.
        (['{"features": {}}', "{", '{"feature": {}}'], ["2 of 3", "line 2: "]),
        (["some words", "and more"], ["2 of 2", "line 1: ", "--use-dataset-reader"]),
    ],
)
def test_wrong_lines_are_told_at_the_end(run, tmp_path, caplog, rows, told):
    path = tmp_path / "input.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    status = run(predictor(), str(path), "--output-file", str(tmp_path / "output.jsonl"), "--batch-size", "2")
    assert status == (0 if told is None else 3)
    found = [record.getMessage() for record in caplog.records if record.name == "seal.cli.predict"]
    assert len(found) == (told is not None)
    for message in found:
        assert all(name in message for name in told)


@pytest.mark.parametrize(
    "rows, status, told",
    [("a\nx\nb\nx\n", 3, (4, 2, "line 2: wrong")), ("a\nb\n", 0, (2, 0, None)), ("", 0, (0, 0, None))],
)
def test_scripts_can_read_how_many_records_are_errors(run, rows, status, told, tmp_path):
    (tmp_path / "lines").write_text(rows)
    asked = [str(tmp_path / "lines"), "--summary", str(tmp_path / "summary.json"), "--silent"]
    assert run(Echo(), *asked, "--output-file", str(tmp_path / "records")) == status
    found = json.loads((tmp_path / "summary.json").read_text())
    assert (found["records"], found["errors"], found["first_error"]) == told and found["seconds"] >= 0
    assert len((tmp_path / "records").read_text().splitlines()) == told[0]


RECORD = {"words": ["It", "rains"], "frames": []}


@pytest.mark.parametrize(
    "asked, told",
    [
        ([], f"{json.dumps(RECORD)}\n"),
        (["--output-format", "json"], f"{json.dumps(RECORD)}\n"),
        (["--output-format", "plain"], readable(RECORD) + "\n"),
    ],
)
def test_predictions_are_printed_as_asked(run, asked, told, tmp_path, capsys):
    (tmp_path / "lines").write_text("a\n")
    echo = Echo()
    echo.predict_json = lambda inputs: RECORD
    run(echo, str(tmp_path / "lines"), *asked)
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    "given, named", [("{", ""), ("[1]", "[1]"), ('{"model": 1}', "'model'"), ('{"dataset_reader": 1}', "reader")]
)
def test_arguments_of_a_predictor(given, named):
    with pytest.raises(ConfigurationError) as error:
        command.predict(parsed("-", "--predictor-args", f" {given}"))
    assert str(error.value).startswith("--predictor-args") and named in str(error.value)


@pytest.mark.parametrize("output", [None, "output.jsonl"])
def test_a_reader_of_standard_output_that_has_enough(tmp_path, monkeypatch, output):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(32, "Broken pipe")

        def fileno(self):
            return spare.fileno()

    inputs = [({"text": "a"}, 1), ({"text": "b"}, 1)]
    with open(tmp_path / "spare", "w") as spare:
        monkeypatch.setattr(sys, "stdout", Closed())
        if output is None:
            with pytest.raises(SystemExit) as ended:
                write_records(Pipeline(Echo()), inputs, 1)
            assert ended.value.code == 1
        else:
            write_records(Pipeline(Echo()), inputs, 1, str(tmp_path / output))
            assert len((tmp_path / output).read_text().splitlines()) == 2
