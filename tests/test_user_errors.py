"""A user's mistake in the `allennlp` command: one sentence on standard error, exit status 1, no traceback."""

import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from allennlp.commands import main
from allennlp.commands.train import train_model_from_file
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived
from allennlp.models.archival import load_archive
from allennlp.predictors import Predictor
from allennlp.training import TrainerCallback

from seal import error_sentences, user_errors
from seal.samplers import Sampler

ROOT = Path(__file__).resolve().parents[1]

CONFIG = """{
  dataset_reader: {type: 'sequence_tagging'},
  train_data_path: '%s',
  model: {
    type: 'simple_tagger',
    text_field_embedder: {token_embedders: {tokens: {type: 'embedding', embedding_dim: 4}}},
    encoder: {type: 'lstm', input_size: 4, hidden_size: 5},
  },
  data_loader: {batch_size: 2},
  trainer: {num_epochs: 1, cuda_device: -1, optimizer: 'adam'},
}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "train.tsv").write_text("the###D dog###N\na###D cat###N\n", encoding="utf-8")
    path = tmp_path / "config.jsonnet"
    path.write_text(CONFIG % (tmp_path / "train.tsv"), encoding="utf-8")
    return str(path)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path, allennlp_logging):
    """Runs the command in this process and hands what it raises to the hook for uncaught exceptions."""
    monkeypatch.delenv(user_errors.TRACEBACK_VARIABLE, raising=False)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    user_errors.install()

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["allennlp", *arguments])
        with pytest.raises(Exception) as error:
            main(prog="allennlp")
        capsys.readouterr()
        sys.excepthook(error.type, error.value, error.tb)
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    "overrides, sentence",
    [
        ('{"trainer.num_epoch": 3}', 'config key "trainer.num_epoch" is unknown to GradientDescentTrainer'),
        ('{"model.type": "simple_tager"}', 'config key "model.type": "simple_tager" is not a registered'),
        # Only the reader's base class refuses this key: readers pass their `**kwargs` on.
        ('{"dataset_reader.max_instance": 3}', 'config key "dataset_reader.max_instance" is unknown'),
        ('{"train_data_path": "none.tsv"}', "file none.tsv not found"),
        # Read by another process, whose error arrives as text.
        ('{"train_data_path": "none.tsv", "data_loader.num_workers": 1}', "file none.tsv not found"),
        ('{"trainer.nothing.here": 3}', "overrides dict contains unused keys: ['trainer.nothing.here']"),
        ('{"a": 1', "--overrides, at 1:"),
        ('{"vocabulary": {"type": "from_files", "directory": "none"}}', "file none not found"),
        # Values that a constructor refuses: at once, when the object is built later, and in its base class.
        ('{"model.encoder.num_layers": 0}', 'config key "model.encoder": num_layers must be greater than zero'),
        ('{"trainer.optimizer": {"type": "adam", "lr": -1}}', 'config key "trainer.optimizer": Invalid learning'),
        ('{"dataset_reader.max_instances": 0}', 'config key "dataset_reader.max_instances" of SequenceTaggingDatasetR'),
        (
            '{"trainer.learning_rate_scheduler": {"type": "step", "step_size": 0}}',
            'config key "trainer.learning_rate_scheduler.step_size" of StepLearningRateScheduler must be at least 1',
        ),
        (
            '{"trainer.moving_average": {"type": "exponential", "decay": 1.9}}',
            'config key "trainer.moving_average.decay" of ExponentialMovingAverage must be at least 0 and below 1, f',
        ),
        ('{"model.encoder.dropout": 1.5}', 'config key "model.encoder.dropout" of LstmSeq2SeqEncoder must be at least'),
        # The same of a constructor that is patched.
        (
            '{"trainer.learning_rate_scheduler": {"type": "reduce_on_plateau", "factor": 2}}',
            'config key "trainer.learning_rate_scheduler": Factor should be < 1.0.',
        ),
        ('{"data_loader.batches_per_epoch": 0}', 'config key "data_loader": batches_per_epoch must be at least 1'),
        ('{"random_seed": "x"}', "config key \"random_seed\" must be a whole number from 0 to 4294967295, found 'x'"),
        ('{"numpy_seed": -1}', 'config key "numpy_seed" must be a whole number from 0 to 4294967295, found -1'),
        ('{"pytorch_seed": 1.5}', 'config key "pytorch_seed" must be a whole number from 0 to 4294967295, found 1.5'),
        ('{"distributed": [-1, -1]}', 'config key "distributed" must be an object with "cuda_devices", a list'),
        ('{"distributed": {"cuda_device": [0, 1]}}', 'config key "distributed" must be an object with "cuda_devices"'),
        (
            '{"distributed": {"cuda_devices": [-1, -1], "num_nods": 2}}',
            'config key "distributed.num_nods" is unknown; did you mean "num_nodes"?',
        ),
        (
            '{"distributed": {"cuda_devices": [-1, -1], "num_nodes": 0}}',
            'config key "distributed.num_nodes" must be at least 1, found 0',
        ),
        (
            '{"distributed": {"cuda_devices": [-2, -3]}}',
            'config key "distributed.cuda_devices" must have numbers of GPUs, or a -1 for each process on the CPU, f',
        ),
        (
            '{"distributed": {"cuda_devices": [0, 99]}}',
            'config key "distributed.cuda_devices": there is no GPU 99 here, whose GPUs are ',
        ),
        ('{"evaluate_on_test": true}', 'config key "evaluate_on_test" needs a "test_data_path", and there is none'),
        ('{"evaluate_on_test": true, "test_data_path": null}', 'config key "evaluate_on_test" needs a "test_data_'),
        ('{"serialization_dir": "x"}', 'config key "serialization_dir": the command line says where, with -s'),
        ('{"model": null}', 'config key "model" of TrainModel is null'),
        ('{"trainer": []}', 'config key "trainer" of TrainModel must be an object, found []'),
        ("[1]", "--overrides must be an object, found [1]"),
        ("5", "--overrides must be an object, found 5"),
    ],
)
def test_train(command, config, tmp_path, overrides, sentence):
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith(f"error: {sentence}")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "overrides, keys",
    [
        ({"random_seed": 3}, '"random_seed"'),
        ({"trainer.patience": None, "trainer.num_epochs": 2}, '"trainer.num_epochs", "trainer.patience"'),
        (
            {"dataset_reader": {"type": "other"}, "data_loader": {}, "model.encoder": {}},
            '"data_loader.batch_size", "dataset_reader.type", "model.encoder.hidden_size" and 2 more',
        ),
    ],
)
def test_a_run_that_is_recovered_with_another_config(command, archive, config, overrides, keys):
    told = command("train", config, "-s", str(archive.parent), "--recover", "-o", json.dumps(overrides))
    path = archive.parent / "config.json"
    assert told == f"error: --recover: the config must be that of the run, {path}; it differs in {keys}\n"


def test_a_run_that_is_recovered_with_its_own_config(archive, config):
    assert train_model_from_file(config, str(archive.parent), recover=True) is not None


def test_a_folder_without_a_transformer(command, config, tmp_path):
    (tmp_path / "none").mkdir()
    indexer = {"type": "pretrained_transformer_mismatched", "model_name": str(tmp_path / "none")}
    overrides = json.dumps({"dataset_reader.token_indexers": {"tokens": indexer}})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith(f"error: Unrecognized model in {tmp_path / 'none'}.")
    assert told.endswith("config.json.\n") and told.count("\n") == 1


def test_a_seed_of_the_environment_is_a_string(config, tmp_path, allennlp_logging):
    overrides = '{"random_seed": "7", "numpy_seed": 0, "pytorch_seed": null}'
    assert train_model_from_file(config, str(tmp_path / "run"), overrides) is not None


def test_the_traceback_is_in_the_log_of_the_run(command, config, tmp_path):
    command("train", config, "-s", str(tmp_path / "run"), "-o", '{"model.type": "simple_tager"}')
    log = (tmp_path / "run" / "out.log").read_text()
    assert "Traceback" in log and "simple_tager" in log


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("{\n  a: error 'set the data path',\n}", ":2:6-31: set the data path"),
        ("{\n  a: nothing,\n}", ":2:6-13: Unknown variable: nothing"),
        ("{\n  a: ,\n}", ":2:6: unexpected: \",\""),
    ],
)
def test_a_config_that_jsonnet_refuses_is_named_with_its_line(command, tmp_path, text, sentence):
    path = tmp_path / "bad.jsonnet"
    path.write_text(text, encoding="utf-8")
    told = command("train", str(path), "-s", str(tmp_path / "run"))
    assert told.startswith(f"error: {path}{sentence}")
    assert told.count("\n") == 1


def test_files_that_are_not_there_or_no_archives(command, tmp_path):
    run = str(tmp_path / "run")
    assert command("train", "none.jsonnet", "-s", run) == "error: file none.jsonnet not found\n"
    assert command("evaluate", "none.tar.gz", "x") == "error: file none.tar.gz not found\n"
    assert command("predict", "none.tar.gz", "x") == "error: file none.tar.gz not found\n"
    no_archive = tmp_path / "model.tar.gz"
    no_archive.write_text("nothing")
    told = command("evaluate", str(no_archive), "x")
    assert told.startswith(f"error: {no_archive} is not a model archive (.tar.gz): ") and told.count("\n") == 1
    told = command("train", "none.jsonnet", "-s", run, "--include-package", "no_such_package")
    assert told == "error: --include-package no_such_package: there is no such package\n"


@pytest.mark.parametrize(
    "key, sampler, sentence",
    [
        ("model.sampler", {"type": "discrete"}, "model.sampler.num_samples must be at least 1, found 0."),
        # A sentence that begins with another name is left alone.
        ("model.inference", {"type": "discrete"}, "sampler.num_samples must be at least 1, found 0."),
    ],
)
def test_a_part_that_refuses_a_setting_is_named_by_its_whole_key(key, sampler, sentence):
    with pytest.raises(ConfigurationError) as error:
        Sampler.from_params(Params({**sampler, "num_samples": 0}, history=f"{key}."))
    assert user_errors.describe(error.value) == sentence


class Refusing(TrainerCallback):
    """Its constructor calls a method that raises an error which has nothing to do with configs."""

    def __init__(self, serialization_dir: str, times: int) -> None:
        super().__init__(serialization_dir)
        self._parse("x" * times)

    def _parse(self, text: str) -> int:
        return int(text)


def test_a_defect_below_a_constructor_keeps_its_traceback(command, config, tmp_path):
    TrainerCallback.register("refusing", exist_ok=True)(Refusing)
    overrides = json.dumps({"trainer.callbacks": [{"type": "refusing", "times": 2}]})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert "Traceback" in told and "invalid literal for int() with base 10: 'xx'" in told


@pytest.fixture
def archive(config, tmp_path, allennlp_logging) -> Path:
    train_model_from_file(config, str(tmp_path / "trained"))
    return tmp_path / "trained" / "model.tar.gz"


def test_a_config_that_is_a_folder_or_no_object(command, tmp_path):
    told = command("train", str(tmp_path), "-s", str(tmp_path / "run"))
    assert told == f"error: {tmp_path}: a config is a file, and this is a folder\n"
    path = tmp_path / "list.jsonnet"
    path.write_text("[1]", encoding="utf-8")
    told = command("train", str(path), "-s", str(tmp_path / "run"), "-o", '{"a": 1}')
    assert told == f"error: {path}: a config must be an object, found [1]\n"


@pytest.mark.parametrize(
    "overrides, sentence",
    [
        ('{"model": {"x": 1}}', 'config key "model.type" is missing'),
        ('{"data_loadr": {}}', 'config key "data_loadr" of --overrides is unknown; did you mean "data_loader"?'),
        ('{"model": 5}', 'config key "model" must be an object, found 5'),
        ('{"dataset_reader": null}', 'config key "dataset_reader" must be an object, found null'),
        ('{"validation_data_loader": [1]}', 'config key "validation_data_loader" must be an object, found [1]'),
    ],
)
def test_overrides_of_a_trained_model(command, archive, tmp_path, overrides, sentence):
    told = command("evaluate", str(archive), str(tmp_path / "train.tsv"), "-o", overrides)
    assert told == f"error: {sentence}\n"


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
        arguments = ["allennlp", "predict", str(archive), data, "--use-dataset-reader", "--predictor", "plain"]
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.setattr(sys, "stdout", Closed())
        if output is None:
            with pytest.raises(BrokenPipeError) as error:
                main(prog="allennlp")
            assert user_errors._tell(error.type, error.value, error.tb)
        else:
            # The file has all records.
            arguments += ["--output-file", str(tmp_path / output)]
            main(prog="allennlp")
            assert len((tmp_path / output).read_text().splitlines()) == 2


@pytest.mark.parametrize("size, change", [(200, None), (None, 60)])
def test_a_damaged_archive(command, archive, size, change):
    whole = bytearray(archive.read_bytes())
    if change is not None:
        whole[change : change + 20] = bytes(20)
    archive.write_bytes(whole[:size])
    for options in ((), ("--batch-size", "2")):
        told = command("evaluate", str(archive), "x", *options)
        assert told.startswith(f"error: {archive} is not a model archive (.tar.gz): ") and told.count("\n") == 1


@pytest.mark.parametrize("arguments, found", [("[1]", "[1]"), ("3", "3"), ("{", "{ (Expecting property name")])
def test_arguments_of_a_predictor_that_are_no_object(command, archive, arguments, found):
    told = command("predict", str(archive), "x", "--predictor-args", arguments, "--predictor", "sentence_tagger")
    assert told.startswith(f"error: --predictor-args must be a JSON object, found {found}") and told.count("\n") == 1


@Predictor.register("plain", exist_ok=True)
class Plain(Predictor):
    """A predictor for the reader's instances."""


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_a_gpu_that_is_not_there(command, archive, tmp_path, monkeypatch, name):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    told = command(name, str(archive), str(tmp_path / "train.tsv"), "--cuda-device", "0")
    assert told.startswith("error: Experiment specified a GPU but none is available") and told.count("\n") == 1


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


@pytest.mark.parametrize("path, reason", [("/dev/full", "No space left on device"), (".", "Is a directory")])
def test_an_output_that_cannot_be_written(command, archive, tmp_path, path, reason):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not here")
    data = str(tmp_path / "train.tsv")
    arguments = ("--use-dataset-reader", "--predictor", "plain", "--output-file", path)
    told = command("predict", str(archive), data, *arguments)
    assert told == f"error: --output-file: '{path}' cannot be written ({reason}); predictions are missing.\n"


@pytest.mark.parametrize("option", ["--output-file", "--predictions-output-file"])
def test_an_output_of_an_evaluation_on_a_full_disk(command, archive, tmp_path, option):
    if not os.path.exists("/dev/full"):
        pytest.skip("/dev/full is not here")
    told = command("evaluate", str(archive), str(tmp_path / "train.tsv"), option, "/dev/full")
    assert told == "error: /dev/full: the file cannot be written (No space left on device)\n"


@pytest.mark.parametrize("key, end", [("los", '; did you mean "loss"?'), ("zzz", "; choose from: loss")])
def test_weights_of_batches_that_the_output_lacks(command, archive, tmp_path, key, end):
    told = command("evaluate", str(archive), str(tmp_path / "train.tsv"), "--batch-weight-key", key)
    assert told == f'error: --batch-weight-key: the model\'s output has no number "{key}"{end}\n'


def test_data_without_instances(command, config, tmp_path):
    (tmp_path / "train.tsv").write_text("\n")
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert told.startswith(f"error: {tmp_path / 'train.tsv'}: no instance is read; ") and told.count("\n") == 1


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


def test_no_two_results_in_one_file_that_auto_names_makes(command, archive, tmp_path):
    data, other = tmp_path / "train.tsv", tmp_path / "train.txt"
    other.write_text(data.read_text())
    both, made = f"{data},{other}", str(tmp_path / "train.outputs")
    told = command("evaluate", str(archive), both, "--output-file", "x", "--auto-names", "METRICS")
    assert told == f"error: --auto-names: '{made}' is named twice, and would hold one result; name another.\n"
    more = ("--output-file", "x", "--predictions-output-file", made, "--auto-names", "METRICS")
    told = command("evaluate", str(archive), str(data), *more)
    assert told.startswith(f"error: --auto-names, --predictions-output-file: '{made}' is named twice")
    other.rename(made)
    told = command("evaluate", str(archive), made, "--output-file", "x", "--auto-names", "METRICS")
    assert told.startswith(f"error: --auto-names: '{made}' is the input")


@pytest.mark.parametrize("option, auto", [("--output-file", "METRICS"), ("--predictions-output-file", "PREDS")])
def test_outputs_of_an_evaluation(command, archive, tmp_path, option, auto):
    data = str(tmp_path / "train.tsv")
    told = command("evaluate", str(archive), f"{data},{data}", option, str(tmp_path / "one.json"))
    assert told == (
        f"error: {option}: 2 files are evaluated, so name as many here, separated by commas, or use "
        f"--auto-names {auto}; found 1.\n"
    )
    told = command("evaluate", str(archive), data, option, str(tmp_path / "none" / "one.json"))
    assert told == f"error: {option}: there is no folder '{tmp_path / 'none'}'; make it first.\n"


def test_a_misspelt_seed(command, config, tmp_path):
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", '{"random_sed": 1}')
    assert told.endswith('"random_sed" is unknown to TrainModel; did you mean "random_seed"?\n')


def test_a_model_name_that_is_nowhere_is_one_sentence(command, config, tmp_path):
    indexers = {"tokens": {"type": "pretrained_transformer", "model_name": "no/such-model"}}
    overrides = json.dumps({"dataset_reader.token_indexers": indexers})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith("error: ") and told.count("\n") == 1


def test_an_error_that_is_not_the_users_keeps_its_traceback(command, config, tmp_path, monkeypatch):
    from allennlp.commands import train

    def broken(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr(train, "train_model", broken)
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert "Traceback" in told and "RuntimeError: a defect" in told and "error: " not in told.splitlines()[0]


def test_the_traceback_comes_back_on_request(command, monkeypatch):
    monkeypatch.setenv(user_errors.TRACEBACK_VARIABLE, "1")
    assert "Traceback" in command("evaluate", "none.tar.gz", "x")


def test_outside_the_command_nothing_changes(capsys, monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    user_errors.install()
    try:
        raise ConfigurationError("wrong")
    except ConfigurationError:
        sys.excepthook(*sys.exc_info())
    assert "Traceback" in capsys.readouterr().err


def test_the_causes_of_a_failed_union_are_told():
    error = ConfigurationError("Failed to construct argument x with type int or bool.")
    error.__cause__ = ConfigurationError('config key "x" must be\n a number')
    told = user_errors.describe(error)
    assert told == 'Failed to construct argument x with type int or bool: config key "x" must be a number'


def test_installing_twice_tells_once(capsys, monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    user_errors.install()
    once = sys.excepthook
    user_errors.install()
    assert sys.excepthook is once


def _run(*arguments: str) -> subprocess.CompletedProcess:
    """The command as a user runs it in the repository, where `.allennlp_plugins` names seal."""
    environment = {**os.environ, "ALLENNLP_LOG_LEVEL": "WARNING"}
    return subprocess.run(
        [sys.executable, "-m", "allennlp", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_command_itself_ends_with_status_1(config, tmp_path):
    done = _run("train", config, "-s", str(tmp_path / "run"), "-o", '{"model.encoder.hidden": 3}')
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith('error: config key "model.encoder.hidden" is unknown to')
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"model.encoder.hidden": 3}, 'error: config key "model.encoder.hidden" is unknown to'),
        ({}, None),
    ],
)
def test_two_processes(config, tmp_path, wrong, sentence):
    overrides = json.dumps({"distributed": {"cuda_devices": [-1, -1]}, **wrong})
    done = _run("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert "Traceback" not in done.stderr + done.stdout
    if sentence is None:
        assert done.returncode == 0
        assert (tmp_path / "run" / "model.tar.gz").is_file()
    else:
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(sentence)


class Waiting(TrainerCallback):
    """Tells by a file that training has begun, and waits for a signal."""

    def on_batch(self, trainer, *args, **kwargs) -> None:
        Path(trainer._serialization_dir, "begun").touch()
        time.sleep(60)


TrainerCallback.register("waiting", exist_ok=True)(Waiting)


@pytest.mark.parametrize(
    "number, status, devices",
    [(signal.SIGINT, 130, None), (signal.SIGTERM, 143, None), (signal.SIGTERM, 143, [-1, -1])],
)
def test_a_run_that_is_stopped(config, tmp_path, number, status, devices):
    run = tmp_path / "run"
    overrides = {"trainer.callbacks": ["waiting"]}
    if devices is not None:
        overrides["distributed"] = {"cuda_devices": devices}
    more = ("--include-package", "tests.test_user_errors", "-o", json.dumps(overrides))
    command = [sys.executable, "-m", "allennlp", "train", config, "-s", str(run), *more]
    # A shell's background job ignores Control-C, and so would its children.
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 200
    while not (run / "begun").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(number)
    told = process.communicate(timeout=50)[1]
    assert process.returncode == status
    # It follows a progress bar; Python adds a warning about the semaphores of several processes.
    assert "stopped; the same command with --recover continues the run\n" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "given, told",
    [
        ({}, "stopped; the same command with --recover continues the run"),
        ({"recover": True}, "stopped; the same command continues the run"),
        ({"force": True}, "stopped; the same command with --recover in the place of --force continues the run"),
        ({"dry_run": True}, "stopped"),
    ],
)
def test_what_is_told_of_a_run_that_is_stopped(config, tmp_path, monkeypatch, given, told):
    from allennlp.commands import train

    def stop(*_, **__):
        raise KeyboardInterrupt

    run = str(tmp_path / "run")
    if "recover" in given:
        train_model_from_file(config, run)
    monkeypatch.setattr(train, "_train_worker", stop)
    with pytest.raises(KeyboardInterrupt) as error:
        train_model_from_file(config, run, **given)
    assert error_sentences.describe_stop(error.value) == told


@pytest.mark.parametrize("error, status", [(KeyboardInterrupt(), 130), (SigTermReceived(), 143)])
def test_another_command_that_is_stopped(command, archive, monkeypatch, capsys, error, status):
    def stop(*_):
        raise error

    monkeypatch.setattr("allennlp.commands.predict._get_predictor", stop)
    monkeypatch.setattr(sys, "argv", ["allennlp", "predict", str(archive), "x"])
    with pytest.raises(type(error)) as raised:
        main(prog="allennlp")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        sys.excepthook(raised.type, raised.value, raised.tb)
    assert ended.value.code == status and capsys.readouterr().err == "stopped\n"


def test_handlers_of_other_kinds_do_not_get_the_traceback(command, capsys):
    stream = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(stream)
    assert command("evaluate", "none.tar.gz", "x").count("\n") == 1
    assert "Traceback" not in capsys.readouterr().out
