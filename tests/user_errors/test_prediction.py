"""A user's mistake in `seal predict` or `seal evaluate`: one sentence, and no file is lost."""

import io
import logging
import os
import resource
import shutil
import sys
import tarfile

import pytest
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor

from seal.cli import models
from seal.cli.main import main
from seal.files.whole_files import opened_alone


@pytest.mark.parametrize(
    "overrides, sentence",
    [
        ('{"model": {"x": 1}}', '"model" of TrainModel must have a "type", found {\'x\': 1}'),
        ('{"data_loadr": {}}', '"data_loadr" of --overrides is unknown; did you mean "data_loader"?'),
        ('{"model": 5}', '"model" of TrainModel must be an object, found 5'),
        ('{"dataset_reader": null}', '"dataset_reader" of TrainModel is null'),
        ('{"validation_data_loader": [1]}', '"validation_data_loader" of TrainModel must be an object, found [1]'),
    ],
)
def test_overrides_of_a_trained_model(command, archive, tmp_path, overrides, sentence):
    told = command("evaluate", str(archive), str(tmp_path / "train.tsv"), "-o", overrides)
    assert told == f"error: config key {sentence}\n"


def test_an_override_that_only_an_evaluation_reads(archive, tmp_path):
    assert load_archive(str(archive), overrides='{"evaluation": {"type": "simple"}}').config["evaluation"] is not None


def test_weights_that_are_none_or_do_not_fit(command, archive, tmp_path):
    data = str(tmp_path / "train.tsv")
    told = command("evaluate", str(archive), data, "--weights-file", data)
    assert told == f"error: {data} is not a file of weights\n"
    start = "error: the weights do not fit the config (see --overrides and --weights-file): "
    told = command("evaluate", str(archive), data, "-o", '{"model.encoder.num_layers": 2}')
    assert told.startswith(f'{start}4 missing, 0 unexpected, "encoder._module.weight_ih_l1" the first')
    told = command("evaluate", str(archive), data, "-o", '{"model.encoder.hidden_size": 6}')
    assert told.startswith(f"{start}size mismatch for encoder._module.") and told.count("\n") == 1


def test_predictors_that_cannot_be(command, archive):
    told = command("predict", str(archive), "x", "--predictor", "sentence_taggr")
    assert told == 'error: --predictor: "sentence_taggr" is not a registered name; did you mean "sentence_tagger"?\n'
    told = command("predict", str(archive), "x", "--predictor", "zzz")
    assert told.startswith('error: --predictor: "zzz" is not a registered name; choose from: seal_')
    told = command("predict", str(archive), "x", "--predictor", "plain", "--predictor-args", '{"model": 1}')
    assert told == "error: --predictor-args: 'model' is given already; leave it out\n"


@pytest.mark.parametrize("output", [None, "output.jsonl"])
def test_a_reader_of_the_output_that_has_enough(command, archive, tmp_path, monkeypatch, output):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError(32, "Broken pipe")

        def fileno(self):
            return spare

    with open(tmp_path / "spare", "w") as file:
        spare = file.fileno()
        data = str(tmp_path / "train.tsv")
        arguments = ["predict", str(archive), data, "--use-dataset-reader", "--predictor", "plain"]
        monkeypatch.setattr(sys, "stdout", Closed())
        if output is None:
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert ended.value.code == 1
        else:
            # The file has all records.
            arguments += ["--output-file", str(tmp_path / output)]
            main(arguments)
            assert len((tmp_path / output).read_text().splitlines()) == 2


@pytest.mark.parametrize("size, change", [(200, None), (None, 60)])
def test_a_damaged_archive(command, archive, size, change):
    whole = bytearray(archive.read_bytes())
    if change is not None:
        whole[change : change + 20] = bytes(20)
    archive.write_bytes(whole[:size])
    for options in ((), ("--batch-size", "2")):
        told = command("evaluate", str(archive), "x", *options)
        assert told.startswith(f"error: {archive} is not a model archive (.tar.gz), or a damaged one: ")
        assert told.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ("[1]", "must be a JSON object, found [1]"),
        ("3", "must be a JSON object, found 3"),
        ("{", "is not JSON: Expecti"),
    ],
)
def test_arguments_of_a_predictor_that_are_no_object(command, archive, arguments, sentence):
    told = command("predict", str(archive), "x", "--predictor-args", arguments, "--predictor", "sentence_tagger")
    assert told.startswith(f"error: --predictor-args {sentence}") and told.count("\n") == 1


@Predictor.register("plain", exist_ok=True)
class Plain(Predictor):
    """A predictor for the reader's instances."""


NO_GPU = "there is no GPU here; for the CPU leave --cuda-device out, or set trainer.cuda_device to -1"


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_a_gpu_that_is_not_there(command, archive, tmp_path, monkeypatch, name):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    told = command(name, str(archive), str(tmp_path / "train.tsv"), "--cuda-device", "0")
    assert told == f"error: {NO_GPU}\n"


@pytest.mark.parametrize("size", [0, -1])
@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_a_batch_size_below_1(command, archive, tmp_path, name, size):
    data = str(tmp_path / "train.tsv")
    more = ("--use-dataset-reader", "--predictor", "plain") if name == "predict" else ()
    told = command(name, str(archive), data, "--batch-size", str(size), *more)
    assert told == f"error: --batch-size must be at least 1, found {size}.\n"


@pytest.mark.parametrize(
    "name, option",
    [("predict", "--output-file"), ("evaluate", "--output-file"), ("evaluate", "--predictions-output-file")],
)
def test_the_input_is_not_written_over(command, archive, tmp_path, name, option):
    data = tmp_path / "train.tsv"
    before = data.read_text()
    same = f"{data.parent}/./{data.name}"
    more = ("--use-dataset-reader", "--predictor", "plain") if name == "predict" else ()
    told = command(name, str(archive), str(data), option, same, *more)
    assert told == f"error: {option}: '{same}' is the input, which would be lost; name another file.\n"
    assert data.read_text() == before


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_what_is_read_by_another_name_is_not_written_over(command, archive, tmp_path, name):
    folder, data, weights = tmp_path / "model", tmp_path / "train.tsv", tmp_path / "other.th"
    folder.mkdir()
    shutil.copy(archive, folder / "model.tar.gz")
    weights.write_bytes(b"weights")
    more = ("--use-dataset-reader", "--predictor", "plain") if name == "predict" else ()
    for model, given, output, options in (
        (folder, data, folder / "model.tar.gz", ()),
        (archive, f"{data}#valid", data, ()),
        (archive, tmp_path / "tr*.tsv", data, ()),
        (archive, data, weights, ("--weights-file", str(weights))),
    ):
        before = output.read_bytes()
        told = command(name, str(model), str(given), "--output-file", str(output), *options, *more)
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
def test_a_second_command_that_writes_the_same_file(command, archive, tmp_path, monkeypatch, name, option):
    path, data = str(tmp_path / "results.jsonl"), str(tmp_path / "train.tsv")
    more = ("--use-dataset-reader", "--predictor", "plain") if name == "predict" else ()
    with opened_alone(path, "--output-file") as first:
        first.write("the first's\n")
        told = command(name, str(archive), data, option, path, *more)
        assert told == f"error: {option}: another command writes '{path}'; wait for it, or name another.\n"
        first.write("all of it\n")
    assert open(path).read() == "the first's\nall of it\n"
    main([name, str(archive), data, option, path, *more])
    assert open(path).read().startswith("{")


@pytest.mark.parametrize("path, reason", [("/dev/full", "No space left on device"), (".", "Is a directory")])
def test_an_output_that_cannot_be_written(command, archive, tmp_path, path, reason):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not here")
    data = str(tmp_path / "train.tsv")
    arguments = ("--use-dataset-reader", "--predictor", "plain", "--output-file", path)
    told = command("predict", str(archive), data, *arguments)
    assert told == f"error: --output-file: '{path}' cannot be written ({reason}); predictions are missing.\n"


@pytest.fixture
def full_disk(monkeypatch, archive):
    """Makes files no longer than a size once the model is loaded; as on a full disk, a write may end in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The limit is also that of a file to which pytest's own output may go, and with it a log.
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def limit(size):
        def load(*args, **kwargs):
            loaded = load_archive(*args, **kwargs)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
            return loaded

        monkeypatch.setattr(models, "load_archive", load)

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_predictions_on_a_full_disk_end_with_a_whole_line(command, archive, tmp_path, monkeypatch, full_disk):
    path, data = str(tmp_path / "results.jsonl"), str(tmp_path / "train.tsv")
    arguments = ("predict", str(archive), data, "--use-dataset-reader", "--predictor", "plain", "--output-file", path)
    main(arguments)
    whole = open(path).readlines()
    size = len(whole[0]) + len(whole[1]) // 2
    full_disk(size)
    told = command(*arguments)
    assert told == f"error: --output-file: '{path}' cannot be written (File too large); predictions are missing.\n"
    assert open(path).readlines() == whole[:1]


def test_scores_of_an_earlier_evaluation_stay_on_a_full_disk(command, archive, tmp_path, full_disk):
    path, data = tmp_path / "scores.json", str(tmp_path / "train.tsv")
    path.write_text("{}")
    full_disk(4)
    told = command("evaluate", str(archive), data, "--output-file", str(path))
    assert told == f"error: --output-file: '{path}' cannot be written (File too large).\n"
    assert path.read_text() == "{}" and not (tmp_path / "scores.json.part").exists()


@pytest.mark.parametrize("option", ["--output-file", "--predictions-output-file"])
def test_an_output_of_an_evaluation_on_a_full_disk(command, archive, tmp_path, option):
    if not os.path.exists("/dev/full"):
        pytest.skip("/dev/full is not here")
    told = command("evaluate", str(archive), str(tmp_path / "train.tsv"), option, "/dev/full")
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


def test_no_two_results_in_one_file(command, archive, tmp_path):
    data, one = str(tmp_path / "train.tsv"), str(tmp_path / "one.json")
    told = command("evaluate", str(archive), data, "--output-file", one, "--predictions-output-file", one)
    both = "--output-file, --predictions-output-file"
    assert told == f"error: {both}: '{one}' is named twice, and would hold one result; name another.\n"
    told = command("evaluate", str(archive), f"{data},{data}", "--output-file", f"{one},{one}")
    assert told.startswith(f"error: --output-file: '{one}' is named twice") and not (tmp_path / "one.json").exists()
    for name in ("evaluate", "predict"):
        told = command(name, str(archive), data, "--output-file", str(archive))
        assert told.startswith(f"error: --output-file: '{archive}' is the input")
    same = f"{tmp_path}/./one.json"
    told = command("evaluate", str(archive), f"{data},{data}", "--output-file", f"{one},{same}")
    assert told.startswith(f"error: --output-file: '{same}' is named twice")


@pytest.mark.parametrize("option", ["--output-file", "--predictions-output-file"])
def test_outputs_of_an_evaluation(command, archive, tmp_path, option):
    data = str(tmp_path / "train.tsv")
    told = command("evaluate", str(archive), f"{data},{data}", option, str(tmp_path / "one.json"))
    assert told == f"error: {option}: 2 files are evaluated, so name as many here, separated by commas; found 1.\n"
    told = command("evaluate", str(archive), data, option, str(tmp_path / "none" / "one.json"))
    assert told == f"error: {option}: there is no folder '{tmp_path / 'none'}'; make it first.\n"
