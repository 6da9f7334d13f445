"""
The patches of `seal/command_line.py`. The sentences for wrong options are tested in `tests/user_errors`.
"""

import io
import json
import os
import signal
import sys

import pytest
import torch
from allennlp.commands import evaluate
from allennlp.commands.predict import _PredictManager
from allennlp.commands.train import train_model
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.models import SimpleTagger

import seal  # noqa: F401
from seal import command_line
from seal.common.shards import Shard
from tests.predictors.multilabel_nets import predictor
from tests.stock_tagger import TAGGED, experiment


class _LineKeeper:
    """Stands in for a predictor: keeps the lines it is given."""

    def __init__(self):
        self.lines = []

    def load_line(self, line):
        self.lines.append(line)
        return {}

    def predict_json(self, inputs):
        return inputs

    def dump_line(self, outputs):
        return "\n"


BAD_INPUT = b'{"sentence": "first"}\n\xff\xfe bad \xe9\n{"sentence": "caf\xc3\xa9"}\n'


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_undecodable_bytes_reach_the_predictor_line_by_line(tmp_path, monkeypatch, source):
    if source == "file":
        path = tmp_path / "input.jsonl"
        path.write_bytes(BAD_INPUT)
    else:
        path = "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD_INPUT), encoding="utf-8"))
    predictor = _LineKeeper()

    _PredictManager(predictor, str(path), None, 1, False, False).run()

    assert [line.encode("utf-8", "surrogateescape") for line in predictor.lines] == BAD_INPUT.splitlines(True)
    assert "\udcff" in predictor.lines[1]
    assert predictor.lines[2] == '{"sentence": "café"}\n'


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
    monkeypatch.setattr(command_line, "MOST_CHARACTERS_AT_ONCE", 60)
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
    manager = _PredictManager(_LineKeeper(), str(tmp_path / "input.jsonl"), str(output), 1, False, False)
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
        (["@relation r", "@data"], "2 of 2 lines have an error in place of a prediction; the first: line 1: "),
    ],
)
def test_wrong_lines_are_told_at_the_end(tmp_path, caplog, lines, told):
    path = tmp_path / "input.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    _PredictManager(predictor(), str(path), str(tmp_path / "output.jsonl"), 2, False, False).run()
    found = [record.getMessage() for record in caplog.records if record.name == "seal.command_line"]
    if told is None:
        assert found == []
    else:
        (message,) = found
        assert message.startswith(told)
        assert message.endswith(" add --use-dataset-reader.") == (len(lines) == 2)


def _handler_in_a_worker(queue):
    # AllenNLP's command installs such a handler, and workers inherit it.
    signal.signal(signal.SIGTERM, lambda *_: None)
    for name in ("_instance_worker", "_batch_worker"):
        try:
            getattr(MultiProcessDataLoader, name)(None, 0, None)
        except TypeError:
            pass  # AllenNLP's own function needs more arguments; the handler is reset before it is called.
        queue.put(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        signal.signal(signal.SIGTERM, lambda *_: None)


def test_data_workers_end_quietly():
    context = torch.multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=_handler_in_a_worker, args=(queue,))
    process.start()
    assert [queue.get(), queue.get()] == [True, True]
    process.join()
    # The main process keeps its own handler.
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(TypeError):
        MultiProcessDataLoader._instance_worker(None)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_batch_size_of_an_evaluation_takes_the_place_of_the_sampler(
    tmp_path, monkeypatch, allennlp_logging
):
    tagged = tmp_path / "train.tsv"
    tagged.write_text(TAGGED, encoding="utf-8")
    params = experiment(tagged)
    sampler = {"type": "bucket", "batch_size": 2, "sorting_keys": ["tokens"]}
    params["data_loader"] = {"batch_sampler": sampler}
    train_model(params, str(tmp_path / "run"))
    original, sizes = SimpleTagger.forward, []

    def forward(self, tokens, **rest):
        sizes.append(len(tokens["tokens"]["tokens"]))
        return original(self, tokens=tokens, **rest)

    monkeypatch.setattr(SimpleTagger, "forward", forward)
    for batch_size, wanted in ((None, [1, 2]), (1, [1, 1, 1]), (3, [3])):
        sizes.clear()
        evaluate.evaluate_from_archive(str(tmp_path / "run"), str(tagged), batch_size=batch_size)
        assert sorted(sizes) == wanted


def test_names_that_lose_no_result_of_an_evaluation(tmp_path, allennlp_logging):
    tagged = tmp_path / "train.tsv"
    tagged.write_text(TAGGED, encoding="utf-8")
    train_model(experiment(tagged), str(tmp_path / "run"))
    run, data = str(tmp_path / "run"), str(tagged)
    # With `auto_names` the given names are ignored. AllenNLP reads the names of the input as JSON where they are JSON.
    evaluate.evaluate_from_archive(run, f'"{data}"', "x", "x", auto_names="ALL")
    assert (tmp_path / "train.outputs").is_file() and (tmp_path / "train.preds").is_file()
    evaluate.evaluate_from_archive(run, data, os.devnull, os.devnull)
    # A file that exists is meant by its name, whatever signs it has.
    (tmp_path / "a,b.tsv").write_text(TAGGED, encoding="utf-8")
    assert "accuracy" in evaluate.evaluate_from_archive(run, str(tmp_path / "a,b.tsv"))
