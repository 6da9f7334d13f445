"""A user's mistake in `seal predict` or `seal evaluate`: one sentence, and no file is lost."""

import logging
import os
import resource
import shutil
import tarfile

import pytest
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor

from seal.allennlp.safe_archives import open_archive
from seal.cli import models
from seal.cli.main import main
from seal.files.atomic_files import open_locked


@Predictor.register("plain", exist_ok=True)
class Plain(Predictor):
    """A predictor for the reader's instances."""


def arguments(name, model, data, *more):
    """Of a command that reads a file of data."""
    by_reader = ("--use-dataset-reader", "--predictor", "plain") if name == "predict" else ()
    return [name, *map(str, (model, data, *more)), *by_reader]


@pytest.fixture
def data(archive, tmp_path):
    return tmp_path / "train.tsv"


@pytest.fixture
def told_by(command, archive, data):
    """What a command says of the model and its data, with more options."""
    return lambda name, *more: command(*arguments(name, archive, data, *more))


def test_overrides_of_a_trained_model(told_by):
    told = told_by("evaluate", "-o", '{"model": {"x": 1}}')
    assert told == 'error: config key "model" of TrainModel must have a "type", found {\'x\': 1}\n'


def test_an_override_that_only_an_evaluation_reads(archive):
    assert load_archive(str(archive), overrides='{"evaluation": {"type": "simple"}}').config["evaluation"] is not None


def test_weights_that_are_none_or_do_not_fit(told_by, data):
    assert told_by("evaluate", "--weights-file", data) == f"error: {data} is not a file of weights\n"
    start = "error: the weights do not fit the config (see --overrides and --weights-file): "
    told = told_by("evaluate", "-o", '{"model.encoder.num_layers": 2}')
    assert told.startswith(f'{start}4 missing, 0 unexpected, "encoder._module.weight_ih_l1" the first')
    told = told_by("evaluate", "-o", '{"model.encoder.hidden_size": 6}')
    assert told.startswith(f"{start}size mismatch for encoder._module.") and told.count("\n") == 1


@pytest.mark.parametrize(
    "name, told", [("sentence_taggr", '; did you mean "sentence_tagger"?\n'), ("zzz", "seal_srl, seal_tagging")]
)
def test_predictors_that_are_not_there(command, archive, name, told):
    start = f'error: --predictor: "{name}" is not a registered name'
    found = command("predict", str(archive), "x", "--predictor", name)
    assert found.startswith(start) and told in found


@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole[:200], lambda whole: whole[:60] + bytes(20) + whole[80:], lambda whole: b"nothing"],
    ids=["cut", "zeros", "text"],
)
def test_a_damaged_archive(command, archive, damage):
    archive.write_bytes(damage(archive.read_bytes()))
    for options in ((), ("--batch-size", "2")):
        told = command("evaluate", str(archive), "x", *options)
        assert told.startswith(f"error: {archive} is not a model archive (.tar.gz), or a damaged one: ")
        assert told.count("\n") == 1


NO_GPU = "there is no GPU here; for the CPU leave --cuda-device out, or set trainer.cuda_device to -1"


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_a_gpu_that_is_not_there(told_by, monkeypatch, name):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    assert told_by(name, "--cuda-device", "0") == f"error: {NO_GPU}\n"


@pytest.mark.parametrize("size", [0, -1])
@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_a_batch_size_below_1(told_by, name, size):
    assert told_by(name, "--batch-size", size) == f"error: --batch-size must be at least 1, found {size}.\n"


@pytest.mark.parametrize(
    "name, option",
    [("predict", "--output-file"), ("evaluate", "--output-file"), ("evaluate", "--predictions-output-file")],
)
def test_the_input_is_not_written_over(told_by, data, name, option):
    before = data.read_text()
    same = f"{data.parent}/./{data.name}"
    told = told_by(name, option, same)
    assert told == f"error: {option}: '{same}' is the input, which would be lost; name another file.\n"
    assert data.read_text() == before


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_what_is_read_by_another_name_is_not_written_over(command, archive, data, tmp_path, name):
    folder, weights = tmp_path / "model", tmp_path / "other.th"
    folder.mkdir()
    shutil.copy(archive, folder / "model.tar.gz")
    weights.write_bytes(b"weights")
    for model, given, output, options in (
        (folder, data, folder / "model.tar.gz", ()),
        (archive, f"{data}#valid", data, ()),
        (archive, tmp_path / "tr*.tsv", data, ()),
        (archive, data, weights, ("--weights-file", weights)),
        (archive, data, archive, ()),
    ):
        before = output.read_bytes()
        told = command(*arguments(name, model, given, "--output-file", output, *options))
        assert told == f"error: --output-file: '{output}' is the input, which would be lost; name another file.\n"
        assert output.read_bytes() == before


@pytest.mark.parametrize(
    "given, message",
    [
        (("typo.txt",), "file typo.txt not found"),
        (("typo.txt", "--use-dataset-reader"), "file typo.txt not found"),
        (("-", "--use-dataset-reader"), "--use-dataset-reader: name a file; a reader does not read standard input."),
    ],
)
def test_an_earlier_output_outlives_a_mistake_in_the_input(command, archive, tmp_path, given, message):
    before = tmp_path / "results.jsonl"
    before.write_text("all of it\n")
    told = command("predict", str(archive), *given, "--predictor", "plain", "--output-file", str(before))
    assert told == f"error: {message}\n" and before.read_text() == "all of it\n"


@pytest.mark.parametrize("name, option", [("predict", "--output-file"), ("evaluate", "--predictions-output-file")])
def test_a_second_command_that_writes_the_same_file(told_by, archive, data, tmp_path, name, option):
    path = str(tmp_path / "results.jsonl")
    with open_locked(path, "--output-file") as first:
        first.write("the first's\n")
        told = told_by(name, option, path)
        assert told == f"error: {option}: another command writes '{path}'; wait for it, or name another.\n"
        first.write("all of it\n")
    assert open(path).read() == "the first's\nall of it\n"
    main(arguments(name, archive, data, option, path))
    assert open(path).read().startswith("{")


@pytest.mark.parametrize("path, reason", [("/dev/full", "No space left on device"), (".", "Is a directory")])
def test_an_output_that_cannot_be_written(told_by, path, reason):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not here")
    told = told_by("predict", "--output-file", path)
    assert told == f"error: --output-file: '{path}' cannot be written ({reason}); predictions are missing.\n"


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
    told = told_by("predict", "--output-file", path)
    assert told == f"error: --output-file: '{path}' cannot be written (File too large); predictions are missing.\n"
    assert open(path).readlines() == whole[:1]


def test_scores_of_an_earlier_evaluation_stay_on_a_full_disk(told_by, tmp_path, full_disk):
    path = tmp_path / "scores.json"
    path.write_text("{}")
    full_disk(4)
    told = told_by("evaluate", "--output-file", path)
    assert told == f"error: --output-file: '{path}' cannot be written (File too large).\n"
    assert path.read_text() == "{}" and not (tmp_path / "scores.json.part").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")
@pytest.mark.parametrize("option", ["--output-file", "--predictions-output-file"])
def test_an_output_of_an_evaluation_on_a_full_disk(told_by, option):
    told = told_by("evaluate", option, "/dev/full")
    assert told.startswith("error: ") and "/dev/full" in told and "No space left on device" in told


def test_an_archive_that_would_write_elsewhere(command, tmp_path):
    path = tmp_path / "model.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        file.addfile(tarfile.TarInfo("../written"))
    told = command("predict", str(path), "-")
    assert told.startswith(f"error: {path}: it is not opened, as it would write elsewhere: ") and told.count("\n") == 1


def test_a_damaged_input(command, archive, tmp_path):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(b"no archive")
    told = command("predict", str(archive), str(path), "--predictor", "plain")
    assert told.startswith(f"error: {path}: the file cannot be read (") and told.count("\n") == 1


@pytest.mark.parametrize(
    "files, options, named",
    [
        (1, {"--output-file": "one", "--predictions-output-file": "one"}, "one"),
        (2, {"--output-file": "one,one"}, "one"),
        (2, {"--output-file": "one,./one"}, "./one"),
    ],
)
def test_no_two_results_in_one_file(command, archive, data, tmp_path, monkeypatch, files, options, named):
    monkeypatch.chdir(tmp_path)
    given = [word for option in options.items() for word in option]
    told = command("evaluate", str(archive), ",".join([str(data)] * files), *given)
    both = ", ".join(options)
    assert told == f"error: {both}: '{named}' is named twice, and would hold one result; name another.\n"
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("option", ["--output-file", "--predictions-output-file"])
def test_outputs_of_an_evaluation(command, told_by, archive, data, tmp_path, option):
    told = command("evaluate", str(archive), f"{data},{data}", option, str(tmp_path / "one.json"))
    assert told == f"error: {option}: 2 files are evaluated, so name as many here, separated by commas; found 1.\n"
    told = told_by("evaluate", option, tmp_path / "none" / "one.json")
    assert told == f"error: {option}: there is no folder '{tmp_path / 'none'}'; make it first.\n"
