"""The sub-command `evaluate`: its options are checked, and its scores are printed."""

import inspect
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Optional

from allennlp.commands import evaluate
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.evaluation import evaluator

from seal.allennlp.command_files import check_files_and_batch_size
from seal.allennlp.replacing import replace_once
from seal.common.nested_values import plain
from seal.files.paths import user_path
from seal.files.whole_files import naming, opened_alone, replacing


def _inputs_of_evaluation(text: str) -> list[str]:
    """The files that `evaluate` reads; none where the text holds JSON objects, which some readers take."""
    if os.path.exists(user_path(text)):
        return [text]
    try:
        inputs = json.loads(f"[{text}]")
    except json.JSONDecodeError:
        return text.split(",")
    return inputs if all(isinstance(path, str) for path in inputs) else []


def _outputs_of_evaluation(
    inputs: list[str], metrics: Optional[str], predictions: Optional[str], auto_names: str
) -> dict[str, list[str]]:
    """The files that `evaluate` writes, by the option that names them; `inputs` is empty where they are not files."""
    outputs: dict[str, list[str]] = {}
    for option, names, auto, ending in (
        ("--output-file", metrics, "METRICS", ".outputs"),
        ("--predictions-output-file", predictions, "PREDS", ".preds"),
    ):
        if names and auto_names in (auto, "ALL"):
            made = [str(path.parent / f"{path.stem}{ending}") for path in map(Path, inputs)]
            outputs["--auto-names"] = outputs.get("--auto-names", []) + made
        elif names:
            outputs[option] = names.split(",")
            if inputs and len(outputs[option]) != len(inputs):
                raise ConfigurationError(
                    f"{option}: {len(inputs)} files are evaluated, so name as many here, separated by commas, or use "
                    f"--auto-names {auto}; found {len(outputs[option])}."
                )
    return outputs


@contextmanager
def _batches_by_length(module: Any, batch_size: Optional[int]) -> Iterator[None]:
    """Inside, the archives that the module loads evaluate in batches by length, of the given size or of their own."""
    original = module.load_archive

    def load_archive(*args: Any, **settings: Any) -> Any:
        archive = original(*args, **settings)
        for key in ("data_loader", "validation_data_loader"):
            loader = archive.config.get(key)
            if isinstance(loader, str) and batch_size is not None:
                archive.config[key] = {"type": loader, "batch_size": batch_size}
            elif isinstance(loader, Params):  # Else null.
                _set_batches(loader, batch_size)
        return archive

    module.load_archive = load_archive
    try:
        yield
    finally:
        module.load_archive = original


# Samplers whose batches are of similar length.
_BY_TOKENS = ("bucket", "by_size", "frames")


def _set_batches(loader: Params, batch_size: Optional[int]) -> None:
    sampler = loader.get("batch_sampler")
    of_sampler = sampler.params if isinstance(sampler, Params) else {}
    by_tokens = of_sampler.get("sorting_keys", ["tokens"]) == ["tokens"] and of_sampler.get("type") in _BY_TOKENS
    if batch_size is None and sampler is not None and not by_tokens:
        return
    size = batch_size or of_sampler.get("batch_size") or loader.get("batch_size")
    plain = loader.get("type", "multiprocess") == "multiprocess" and not loader.get("drop_last")
    if batch_size is not None:
        loader.pop("batch_sampler", None)
        loader["batch_size"] = batch_size
    if plain and type(size) is int:
        for key in ("batch_size", "batch_sampler", "shuffle", "drop_last"):
            loader.pop(key, None)
        loader["batch_sampler"] = {"type": "by_length", "batch_size": size}


def check_options_of_evaluate() -> None:
    """
    Patches: `allennlp.commands.evaluate.evaluate_from_archive`.

    Symptom: an output file that is also the input is emptied. A missing folder of an output file is noticed only after
    the evaluation. An output file that is named twice, or that `--auto-names` makes from two inputs, keeps one result
    of two. A `--batch-size` below 1 ends in a traceback, and so does a number of output files that differs from that of
    inputs. `--batch-size` for a model that was trained with a `batch_sampler` is refused as if the config had both, and
    one long text pads all others of its batch. A `--cuda-device` that does not exist ends in a traceback, where
    `predict` prints one sentence. Without `--output-file` the scores are nowhere but in the progress bar.

    Can go: when AllenNLP checks its arguments, and prints the scores.
    """

    def evaluate_from_archive(
        original,
        archive_file,
        input_file,
        metrics_output_file=None,
        predictions_output_file=None,
        batch_size=None,
        **kwargs,
    ):
        check_for_gpu(kwargs.get("cuda_device", -1))
        inputs = _inputs_of_evaluation(str(input_file))
        if len(inputs) == 1:
            # As JSON, so that a name with commas or of digits is one name.
            input_file = json.dumps(inputs[0])
        outputs = _outputs_of_evaluation(
            inputs, metrics_output_file, predictions_output_file, kwargs.get("auto_names", "NONE")
        )
        read = [*inputs, str(archive_file), kwargs.get("weights_file")]
        check_files_and_batch_size(batch_size, read, outputs)
        with _batches_by_length(evaluate, batch_size):
            metrics = original(archive_file, input_file, metrics_output_file, predictions_output_file, None, **kwargs)
        if not outputs.get("--output-file") and not outputs.get("--auto-names"):
            print(json.dumps(plain(metrics), indent=2))
        return metrics

    replace_once(evaluate, "evaluate_from_archive", evaluate_from_archive)


def name_what_fails_in_an_evaluation() -> None:
    """
    Patches: `allennlp.evaluation.SimpleEvaluator.__call__`, and the `dump_metrics` that it calls.

    Symptom: on a full disk, the error does not say which of the files cannot be written. Two commands with the same
    file of predictions write over each other.

    Can go: when AllenNLP's errors name the file, and it locks it.
    """

    def __call__(original, self, *args, **kwargs):
        given = inspect.signature(original).bind(self, *args, **kwargs).arguments
        path = given.get("predictions_output_file") or ""
        alone = opened_alone(path, "--predictions-output-file") if path else nullcontext()
        with naming(path), alone:
            return original(self, *args, **kwargs)

    def dump_metrics(original, file_path, *args, **kwargs):
        if not file_path or not os.path.isfile(file_path):
            with naming(file_path):
                return original(file_path, *args, **kwargs)
        # On a full disk, the scores of an earlier evaluation stay.
        with replacing(os.path.realpath(file_path)) as draft:
            return original(draft, *args, **kwargs)

    replace_once(evaluator.SimpleEvaluator, "__call__", __call__)
    replace_once(evaluator, "dump_metrics", dump_metrics)


PATCHES = (check_options_of_evaluate, name_what_fails_in_an_evaluation)
