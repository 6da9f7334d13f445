"""A user's mistake in `seal predict` or `seal evaluate`: one sentence, and no file is lost."""

import logging
import os
import resource
import shutil

import pytest
from allennlp.predictors import Predictor

from seal.allennlp.safe_archives import open_archive
from seal.cli import models
from seal.cli.main import main
from seal.files.atomic_files import open_locked


@Predictor.register("plain", exist_ok=True)
class Plain(Predictor):
    """A predictor for the reader's instances."""


BY_READER = ("--use-dataset-reader", "--predictor", "plain")


def arguments(name, model, data, *more):
    """Of a command that reads a file of data."""
    return [name, *map(str, (model, data, *more)), *(BY_READER if name == "predict" else ())]


@pytest.fixture
def data(archive, tmp_path):
    return tmp_path / "train.tsv"


@pytest.fixture
def told_by(command, archive, data):
    """What a command says of the model and its data, with more options, in one line."""

    def told_by(name, *more):
        told = command(*arguments(name, archive, data, *more))
        assert told.startswith("error: ") and told.count("\n") == 1
        return told

    return told_by


LAYERS = '{"model.encoder.num_layers": 2}'
#: A command, its options, and what its sentence names.
MISTAKES = [
    ("evaluate", ("-o", '{"model": {"x": 1}}'), '"model"', '"type"'),
    ("evaluate", ("--weights-file", "train.tsv"), "train.tsv"),
    ("evaluate", ("-o", LAYERS), "4 missing", "weight_ih_l1", "--overrides"),
    ("evaluate", ("-o", '{"model.encoder.hidden_size": 6}'), "encoder._module.", "--overrides"),
    ("predict", ("--predictor", "sentence_taggr"), '"sentence_taggr"', '"sentence_tagger"'),
    ("predict", ("--predictor", "zzz"), '"zzz"', "seal_srl", "seal_tagging"),
    *((name, ("--cuda-device", "0"), "--cuda-device") for name in ("predict", "evaluate")),
    *((name, ("--batch-size", "0"), "--batch-size", "0") for name in ("predict", "evaluate")),
    ("predict", ("--output-file", "."), "--output-file", "'.'"),
    ("evaluate", ("--output-file", "one", "--predictions-output-file", "one"), "--predictions-output-file", "'one'"),
    ("evaluate", ("--output-file", "one,two"), "--output-file", "1", "2"),
    ("evaluate", ("--output-file", "none/one.json"), "--output-file", "'none'"),
]


@pytest.mark.parametrize("name, options, named", [(*row[:2], row[2:]) for row in MISTAKES])
def test_options(command, archive, data, tmp_path, monkeypatch, name, options, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    # Of an option that is given twice, the last one counts.
    told = command(name, str(archive), "train.tsv", *(BY_READER if name == "predict" else ()), *options)
    assert told.startswith("error: ") and told.count("\n") == 1 and all(word in told for word in named), told
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("damage", [lambda whole: whole[:200], lambda whole: b"nothing"], ids=["cut", "text"])
def test_a_damaged_archive(told_by, archive, damage):
    archive.write_bytes(damage(archive.read_bytes()))
    assert str(archive) in told_by("evaluate")


def test_a_damaged_input(command, archive, tmp_path):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(b"no archive")
    told = command("predict", str(archive), str(path), "--predictor", "plain")
    assert told.startswith(f"error: {path}: ") and told.count("\n") == 1


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_what_is_read_is_not_written_over(command, archive, data, tmp_path, name):
    folder, weights = tmp_path / "model", tmp_path / "other.th"
    folder.mkdir()
    shutil.copy(archive, folder / "model.tar.gz")
    weights.write_bytes(b"weights")
    for model, given, output, options in (
        (archive, data, f"{data.parent}/./{data.name}", ()),
        (folder, data, folder / "model.tar.gz", ()),
        (archive, f"{data}#valid", data, ()),
        (archive, tmp_path / "tr*.tsv", data, ()),
        (archive, data, weights, ("--weights-file", weights)),
        (archive, data, archive, ()),
    ):
        before = open(output, "rb").read()
        told = command(*arguments(name, model, given, "--output-file", output, *options))
        assert told.startswith("error: --output-file: ") and f"'{output}'" in told
        assert open(output, "rb").read() == before


@pytest.mark.parametrize("given", [("typo.txt",), ("typo.txt", "--use-dataset-reader"), ("-", "--use-dataset-reader")])
def test_an_earlier_output_outlives_a_mistake_in_the_input(command, archive, tmp_path, given):
    before = tmp_path / "results.jsonl"
    before.write_text("all of it\n")
    told = command("predict", str(archive), *given, "--predictor", "plain", "--output-file", str(before))
    assert given[-1] in told or given[0] in told
    assert before.read_text() == "all of it\n"


@pytest.mark.parametrize("name, option", [("predict", "--output-file"), ("evaluate", "--predictions-output-file")])
def test_a_second_command_that_writes_the_same_file(told_by, archive, data, tmp_path, name, option):
    path = str(tmp_path / "results.jsonl")
    with open_locked(path, "--output-file") as first:
        first.write("the first's\n")
        told = told_by(name, option, path)
        assert option in told and path in told
        first.write("all of it\n")
    assert open(path).read() == "the first's\nall of it\n"
    main(arguments(name, archive, data, option, path))
    assert open(path).read().startswith("{")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")
@pytest.mark.parametrize(
    "name, option",
    [("predict", "--output-file"), ("evaluate", "--output-file"), ("evaluate", "--predictions-output-file")],
)
def test_a_full_disk(told_by, name, option):
    assert "/dev/full" in told_by(name, option, "/dev/full")


@pytest.fixture
def full_disk(monkeypatch, archive):
    """Makes files no longer than a size once the model is loaded; as on a full disk, a write may end in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The limit is also that of a file to which pytest's own output may go, and with it a log.
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def limit(size):
        def load(*args, **kwargs):
            loaded = open_archive(*args, **kwargs)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
            return loaded

        monkeypatch.setattr(models, "open_archive", load)

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_predictions_on_a_full_disk_end_with_a_whole_line(told_by, archive, data, tmp_path, full_disk):
    path = str(tmp_path / "results.jsonl")
    main(arguments("predict", archive, data, "--output-file", path))
    whole = open(path).readlines()
    full_disk(len(whole[0]) + len(whole[1]) // 2)
    assert path in told_by("predict", "--output-file", path)
    assert open(path).readlines() == whole[:1]


def test_scores_of_an_earlier_evaluation_stay_on_a_full_disk(told_by, tmp_path, full_disk):
    path = tmp_path / "scores.json"
    path.write_text("{}")
    full_disk(4)
    assert str(path) in told_by("evaluate", "--output-file", path)
    assert path.read_text() == "{}" and not (tmp_path / "scores.json.part").exists()
