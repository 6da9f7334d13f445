"""The loop of `seal evaluate`. The sentences for wrong options are tested in `tests/user_errors`."""

import argparse
import json
import os

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.models import SimpleTagger

from seal.cli import evaluate as command
from seal.common import length_groups
from tests.stock_tagger import TAGGED, experiment


def evaluate(*arguments):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["evaluate", *map(str, arguments)])
    return args.func(args)


def batch_sizes(monkeypatch):
    """A list that gets the size of each batch that the tagger reads."""
    original, sizes = SimpleTagger.forward, []

    def forward(self, tokens, **rest):
        sizes.append(len(tokens["tokens"]["tokens"]))
        return original(self, tokens=tokens, **rest)

    monkeypatch.setattr(SimpleTagger, "forward", forward)
    return sizes


def size_of(batch_size):
    return () if batch_size is None else ("--batch-size", batch_size)


def train(folder, **more):
    """The folder of a run on `train.tsv` in a folder, with other settings of the config."""
    (folder / "train.tsv").write_text(TAGGED, encoding="utf-8")
    params = experiment(folder / "train.tsv")
    params.params.update(more)
    train_model(params, str(folder / "run"))
    return folder / "run"


def test_a_batch_size_of_an_evaluation_takes_the_place_of_the_sampler(tmp_path, monkeypatch, allennlp_logging):
    sampler = {"type": "bucket", "batch_size": 2, "sorting_keys": ["tokens"]}
    run = train(tmp_path, data_loader={"batch_sampler": sampler})
    sizes = batch_sizes(monkeypatch)
    for batch_size, wanted in ((None, [1, 2]), (1, [1, 1, 1]), (3, [3])):
        sizes.clear()
        evaluate(run, tmp_path / "train.tsv", *size_of(batch_size))
        assert sorted(sizes) == wanted


@pytest.mark.parametrize(
    "loader", [{"batch_size": 3, "shuffle": True}, {"batch_sampler": {"type": "bucket", "batch_size": 3}}]
)
@pytest.mark.parametrize("batch_size", [None, 3])
def test_a_long_text_does_not_pad_others(tmp_path, monkeypatch, allennlp_logging, loader, batch_size):
    run = train(tmp_path, data_loader=loader)
    sizes = batch_sizes(monkeypatch)
    monkeypatch.setattr(length_groups, "MOST_WORDS", 1)
    evaluate(run, tmp_path / "train.tsv", *size_of(batch_size))
    assert sizes == [1, 1, 1]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("allennlp.common.logging.prepare_global_logging", lambda *_, **__: None)
        return train(tmp_path_factory.mktemp("trained"))


def test_the_scores_are_those_of_allennlp_and_are_printed_or_written(trained, tmp_path, capsys):
    data = trained.parent / "train.tsv"
    theirs = evaluate_from_archive(str(trained), str(data))
    capsys.readouterr()
    wanted = evaluate(trained, data)
    # Batches are others, and the loss is a mean over them.
    assert {**wanted, "loss": None} == {**theirs, "loss": None}
    assert json.loads(capsys.readouterr().out) == wanted
    output, predictions = tmp_path / "scores.json", tmp_path / "predictions.jsonl"
    for before in (False, True):
        assert output.exists() == before
        evaluate(trained / "model.tar.gz", data, "--output-file", output, "--predictions-output-file", predictions)
        assert json.loads(output.read_text()) == wanted and capsys.readouterr().out == ""
        assert len(predictions.read_text().splitlines()) == 2


def test_several_files(trained, tmp_path, capsys):
    data, names = trained.parent / "train.tsv", [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    for name in names:
        name.write_text(data.read_text())
    found = evaluate(trained, f"{names[0]},{names[1]}", "--output-file", f"{tmp_path}/one,{tmp_path}/two")
    scores = json.loads((tmp_path / "two").read_text())
    assert found == {f"{name.stem}_{key}": value for name in names for key, value in scores.items()}
    assert evaluate(trained, json.dumps(str(data))) == scores


def test_names_that_lose_no_result_of_an_evaluation(trained, tmp_path):
    data = tmp_path / "train.tsv"
    data.write_text(TAGGED, encoding="utf-8")
    evaluate(trained, data, "--output-file", os.devnull, "--predictions-output-file", os.devnull)
    # A file that exists is meant by its name, whatever signs it has.
    (tmp_path / "a,b.tsv").write_text(TAGGED, encoding="utf-8")
    assert "accuracy" in evaluate(trained, tmp_path / "a,b.tsv")


def test_what_predict_gives_comes_first_and_is_named(trained, monkeypatch, capsys):
    scores = {"accuracy_own": 1.0, "accuracy": 2.0, "f1-PER": 5.0, "f1": 3.0, "f1_own": 4.0}
    monkeypatch.setattr(SimpleTagger, "get_metrics", lambda self, reset=False: dict(scores))
    evaluate(trained, trained.parent / "train.tsv")
    told = capsys.readouterr()
    assert list(json.loads(told.out))[:3] == ["accuracy", "f1-PER", "f1"]
    assert "accuracy, f1;" in told.err and "*_own" in told.err
