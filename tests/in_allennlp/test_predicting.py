"""
The patches of `predict`. The sentences for wrong options are tested in `tests/user_errors`.
"""

import gzip
import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from argparse import Namespace

import pytest
from allennlp.commands import predict
from allennlp.commands.predict import _PredictManager
from allennlp.common.checks import ConfigurationError

import seal  # noqa: F401
from seal.allennlp import predicting
from seal.files.shards import Shard
from tests.line_keeper import LineKeeper
from tests.predictors.multilabel_nets import predictor

#: Options of `predict` with an archive that is not there.
NO_MODEL = Namespace(
    archive_file="no",
    weights_file=None,
    input_file="-",
    output_file=None,
    batch_size=1,
    use_dataset_reader=False,
    predictor=None,
    predictor_args="",
)
BAD_INPUT = b'{"sentence": "first"}\n\xff\xfe bad \xe9\n{"sentence": "caf\xc3\xa9"}\n'


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_undecodable_bytes_reach_the_predictor_line_by_line(tmp_path, monkeypatch, source):
    if source == "file":
        path = tmp_path / "input.jsonl"
        path.write_bytes(BAD_INPUT)
    else:
        path = "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD_INPUT), encoding="utf-8"))
    predictor = LineKeeper()

    _PredictManager(predictor, str(path), None, 1, False, False).run()

    assert [line.encode("utf-8", "surrogateescape") for line in predictor.lines] == BAD_INPUT.splitlines(True)
    assert "\udcff" in predictor.lines[1]
    assert predictor.lines[2] == '{"sentence": "café"}\n'


def test_a_file_of_lines_that_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "1")
    path = tmp_path / "input.jsonl.gz"
    for content in ((b"a" * 1023 + b"\n") * 2**11, b"a" * 2**24):
        path.write_bytes(gzip.compress(content))
        for shard in (None, Shard(1, 2)):
            manager = _PredictManager(LineKeeper(), str(path), None, 1, False, False)
            manager._predictor.shard = shard
            with pytest.raises(ConfigurationError, match="input.jsonl.gz: it unpacks to more than 1 MiB; if it is"):
                manager.run()


def _predict_until_killed(path, output):
    keeper = LineKeeper()

    def predict_json(record):
        if record["id"] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return record

    keeper.load_line, keeper.predict_json = json.loads, predict_json
    keeper.dump_line = lambda record: json.dumps(record) + "\n"
    _PredictManager(keeper, path, output, 1, False, False).run()


def test_what_is_predicted_survives_a_kill(tmp_path):
    (tmp_path / "input.jsonl").write_text("".join(f'{{"id": {number}}}\n' for number in range(5)))
    paths = str(tmp_path / "input.jsonl"), str(tmp_path / "output.jsonl")
    process = multiprocessing.get_context("fork").Process(target=_predict_until_killed, args=paths)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert [json.loads(line)["id"] for line in open(paths[1])] == [0, 1, 2]


@pytest.mark.parametrize("has_it", [True, False])
def test_large_tensors_go_back_to_the_system(monkeypatch, has_it):
    set_to = []
    library = Namespace(mallopt=lambda *settings: set_to.append(settings)) if has_it else Namespace()
    monkeypatch.setattr(predicting.ctypes, "CDLL", lambda name: library)
    with pytest.raises(Exception, match="no"):
        predict._get_predictor(NO_MODEL)
    # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h.
    assert set_to == ([(-3, 2**23), (-1, 2**24)] if has_it else [])


# Prints by how many MiB an LSTM's memory grows over sentences of 300 lengths.
_MANY_LENGTHS = """
from pathlib import Path

import torch
from allennlp.commands import predict

import seal
from tests.in_allennlp.test_predicting import NO_MODEL

try:
    predict._get_predictor(NO_MODEL)
except Exception:
    pass
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
    environment = {name: value for name, value in os.environ.items() if name != predicting.PROGRAMS}
    command = [sys.executable, "-c", _MANY_LENGTHS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout.splitlines()[-1]) < 60


def test_the_number_of_programs_that_a_user_gives_is_left(monkeypatch):
    monkeypatch.setenv(predicting.PROGRAMS, "7")
    with pytest.raises(Exception, match="no"):
        predict._get_predictor(NO_MODEL)
    assert os.environ[predicting.PROGRAMS] == "7"


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_the_outputs_of_shards_are_that_of_the_file(tmp_path, count):
    path = tmp_path / "input.jsonl"
    # The first line has a byte order mark; the third is blank, the fourth wrong, and the last has no end.
    lines = [b'\xef\xbb\xbf{"features": {}}\n', b'{"features": {"ripe": 2}}\r\n', b" \n", b"{\n"]
    path.write_bytes(b"".join([*lines, b'{"id": 5, "features": {}}\n{"features": 1}']))

    def output(shard):
        one = predictor()
        one.shard = shard
        _PredictManager(one, str(path), str(tmp_path / "output.jsonl"), 2, False, False).run()
        return (tmp_path / "output.jsonl").read_text()

    whole = output(None)
    assert [json.loads(line)["line"] for line in whole.splitlines()] == [1, 2, 4, 5, 6]
    assert "".join(output(Shard(number, count)) for number in range(1, count + 1)) == whole


def test_shards_of_a_csv_file_are_rows(tmp_path):
    # The second row has two lines, and there is a blank one.
    (tmp_path / "input.csv").write_text('id,features\n1,a\n2,"b\nb"\n\n3,c\n')
    ids = []
    for number in (1, 2):
        one = predictor()
        one.shard = Shard(number, 2)
        one.load_line = lambda line: ids.append((number, line.number, json.loads(line)["id"])) or {"features": {}}
        _PredictManager(one, str(tmp_path / "input.csv"), None, 1, False, False).run()
    assert ids == [(1, 2, "1"), (2, 3, "2"), (2, 6, "3")]


def test_long_lines_are_predicted_a_few_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(predicting, "MOST_CHARACTERS_AT_ONCE", 60)
    lines = ['{"features": {}}\n', '{"features": {}}\n', '{"features": {}%s}\n' % (" " * 50), '{"features": {}}\n']
    (tmp_path / "input.jsonl").write_text("".join(lines))
    one, sizes = predictor(), []
    of_one = one.predict_batch_json
    monkeypatch.setattr(one, "predict_batch_json", lambda inputs: sizes.append(len(inputs)) or of_one(inputs))
    _PredictManager(one, str(tmp_path / "input.jsonl"), None, 64, False, False).run()
    assert sizes == [3, 1]


def test_the_output_of_an_earlier_run_is_emptied_where_there_are_no_records(tmp_path):
    (tmp_path / "input.jsonl").write_text("\n")
    output = tmp_path / "output.jsonl"
    output.write_text("all of it\n")
    manager = _PredictManager(LineKeeper(), str(tmp_path / "input.jsonl"), str(output), 1, False, False)
    assert output.read_text() == "all of it\n"
    manager.run()
    assert output.read_text() == ""


@pytest.mark.parametrize(
    "lines, told",
    [
        (['{"features": {}}', '{"features": {}}'], None),
        # One line is an error of its form, the other of what it asks for. Predicted two at a time.
        (
            ['{"features": {}}', "{", '{"feature": {}}'],
            "2 of 3 lines have an error in place of a prediction; the first: line 2: ",
        ),
        (["some words", "and more"], "2 of 2 lines have an error in place of a prediction; the first: line 1: "),
    ],
)
def test_wrong_lines_are_told_at_the_end(tmp_path, caplog, lines, told):
    path = tmp_path / "input.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    _PredictManager(predictor(), str(path), str(tmp_path / "output.jsonl"), 2, False, False).run()
    found = [record.getMessage() for record in caplog.records if record.name == "seal.allennlp.predicting"]
    if told is None:
        assert found == []
    else:
        (message,) = found
        assert message.startswith(told)
        assert message.endswith(" add --use-dataset-reader.") == (len(lines) == 2)


@pytest.mark.parametrize("given", ["{", "[1]", "3", '{"model": 1}', '{"dataset_reader": 1}'])
def test_arguments_of_a_predictor(given):
    args = Namespace(predictor=None, predictor_args=f" {given}")
    with pytest.raises(ConfigurationError, match="^--predictor-args"):
        predict._get_predictor(args)


@pytest.mark.parametrize("output", [None, "output.jsonl"])
def test_a_reader_of_standard_output_that_has_enough(tmp_path, monkeypatch, output):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(32, "Broken pipe")

        def fileno(self):
            return spare.fileno()

    path = None if output is None else str(tmp_path / output)
    with open(tmp_path / "spare", "w") as spare:
        monkeypatch.setattr(sys, "stdout", Closed())
        manager = _PredictManager(LineKeeper(), "x", path, 1, True, False)
        if path is None:
            with pytest.raises(SystemExit):
                manager._maybe_print_to_console_and_file(0, "record")
        else:
            manager._maybe_print_to_console_and_file(0, "record\n")
            assert (tmp_path / output).read_text() == "record\n"
