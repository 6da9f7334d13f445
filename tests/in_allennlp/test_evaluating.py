"""The patches of `evaluate`. The sentences for wrong options are tested in `tests/user_errors`."""

import os

import pytest
import torch
from allennlp.commands import evaluate
from allennlp.commands.train import train_model
from allennlp.evaluation import SimpleEvaluator
from allennlp.models import SimpleTagger

import seal  # noqa: F401
from seal.common import length_groups
from tests.stock_tagger import TAGGED, experiment


def batch_sizes(monkeypatch):
    """A list that gets the size of each batch that the tagger reads."""
    original, sizes = SimpleTagger.forward, []

    def forward(self, tokens, **rest):
        sizes.append(len(tokens["tokens"]["tokens"]))
        return original(self, tokens=tokens, **rest)

    monkeypatch.setattr(SimpleTagger, "forward", forward)
    return sizes


def test_a_batch_size_of_an_evaluation_takes_the_place_of_the_sampler(tmp_path, monkeypatch, allennlp_logging):
    tagged = tmp_path / "train.tsv"
    tagged.write_text(TAGGED, encoding="utf-8")
    params = experiment(tagged)
    sampler = {"type": "bucket", "batch_size": 2, "sorting_keys": ["tokens"]}
    params["data_loader"] = {"batch_sampler": sampler}
    train_model(params, str(tmp_path / "run"))
    sizes = batch_sizes(monkeypatch)
    for batch_size, wanted in ((None, [1, 2]), (1, [1, 1, 1]), (3, [3])):
        sizes.clear()
        evaluate.evaluate_from_archive(str(tmp_path / "run"), str(tagged), batch_size=batch_size)
        assert sorted(sizes) == wanted


@pytest.mark.parametrize(
    "loader", [{"batch_size": 3, "shuffle": True}, {"batch_sampler": {"type": "bucket", "batch_size": 3}}]
)
@pytest.mark.parametrize("batch_size", [None, 3])
def test_a_long_text_does_not_pad_others(tmp_path, monkeypatch, allennlp_logging, loader, batch_size):
    tagged = tmp_path / "train.tsv"
    tagged.write_text(TAGGED, encoding="utf-8")
    params = experiment(tagged)
    params["data_loader"] = loader
    train_model(params, str(tmp_path / "run"))
    sizes = batch_sizes(monkeypatch)
    monkeypatch.setattr(length_groups, "MOST_WORDS", 1)
    evaluate.evaluate_from_archive(str(tmp_path / "run"), str(tagged), batch_size=batch_size)
    assert sizes == [1, 1, 1]


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


class Summing(torch.nn.Module):
    def forward(self, x):
        return {"loss": x.sum()}

    def get_metrics(self, reset=False):
        return {}


class Loader(list):
    def set_target_device(self, device):
        pass


@pytest.mark.parametrize("name", ["metrics_output_file", "predictions_output_file"])
def test_outputs_on_a_full_disk(name, monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("/dev/full is not here")
    evaluator = SimpleEvaluator(batch_serializer=lambda *_, **__: "line")
    with pytest.raises(OSError) as error:
        evaluator(Summing(), Loader([{"x": torch.ones(2)}]), None, **{name: "/dev/full"})
    assert str(error.value.filename) == "/dev/full"
