"""
Predicts records from raw input with a trained model. `seal.load` returns a `Pipeline`; the commands `predict` and
`demo` use it, too.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.data import Instance
from allennlp.models.archival import Archive
from allennlp.predictors import Predictor

from seal.allennlp.safe_archives import open_archive
from seal.common.setting_checks import abbreviate, check_range
from seal.files.input_lines import Shard, input_lines
from seal.files.paths import user_path
from seal.tasks.base.predictor import Line, LinePredictor
from seal.tasks.base.records import Record
from seal.tasks.base.sentence_predictor import SentencePredictor

#: The approximate most characters of inputs in memory at once; a single input may be longer.
MOST_CHARACTERS_AT_ONCE = 2**20


class InputError(ConfigurationError, ValueError):
    """An error in an input, a model or a model's name, in one sentence. Programs may catch it as a `ValueError`."""


class Pipeline:
    """
    A trained model, called with raw input.

    ```python
    srl = seal.load("english-srl")
    srl("My neighbour sold his old car.")["frames"][0]["description"]  # [ARG0 My neighbour] [V sold] ...
    for record in srl(texts):  # any iterable
        ...
    ```

    # Parameters

    predictor : `Predictor`
        The predictor of the model's task. Its docstring lists the keys of a record and of an input object.
    name : `str`, optional (default = `""`)
        The name or path of the model.
    """

    def __init__(self, predictor: Predictor, name: str = "") -> None:
        self.predictor = predictor
        self.name = name

    @classmethod
    def of_archive(
        cls,
        archive: Archive,
        name: str = "",
        predictor: Optional[str] = None,
        reader: str = "validation",
        arguments: Optional[dict[str, Any]] = None,
    ) -> "Pipeline":
        """
        Makes the pipeline of an opened archive.

        # Parameters

        archive : `Archive`
        name : `str`, optional (default = `""`)
        predictor : `str`, optional (default = `None`)
            The registered name of a predictor that replaces the model's default.
        reader : `str`, optional (default = `"validation"`)
            The reader to use if the archive has two: `"train"` or `"validation"`.
        arguments : `dict[str, Any]`, optional (default = `None`)
            Arguments of the predictor.
        """
        made = Predictor.from_archive(archive, predictor, reader, extra_args=arguments)  # type: ignore[arg-type]
        return cls(made, name)

    @property
    def model(self) -> torch.nn.Module:
        return self.predictor._model

    def __call__(self, given: Any, batch_size: Optional[int] = None) -> Union[Record, Iterator[Record]]:
        """
        Predicts one input, or an iterable of inputs in batches, lazily.

        # Parameters

        given :
            A text (`str`), or an object (`dict`) as in a line of the input of `seal predict`. For feature vectors, a
            row: a list of numbers, an array, or an object of numbers by attribute. For images: a path, an array
            `(height, width, 3)` of bytes, or a Pillow image. Any iterable of these is several inputs.
        batch_size : `int`, optional (default = `256`; `1` for images)
            The number of inputs of an iterable that are read and predicted at once.

        # Returns

        `Record`, or an iterator with a `Record` for each of several inputs, in order. A text of several sentences gives
        a record with the one key `sentences`, a list of records.

        # Raises

        `InputError` if a single input is faulty. In an iterable, the record of a faulty input has the one key `error`.
        """
        with errors_explained():
            check_range("batch_size", batch_size, least=1)
            if not isinstance(self.predictor, LinePredictor):
                is_single_input, request = isinstance(given, dict), lambda one: one
            else:
                is_single_input, request = self.predictor.is_single_input(given), self.predictor.request
            if is_single_input or not isinstance(given, Iterable):
                return Record(self.predictor.predict_json(request(given)))
        return self._several(given, request, batch_size)

    def _several(self, given: Iterable[Any], request: Any, batch_size: Optional[int]) -> Iterator[Record]:
        def inputs() -> Iterator[tuple[Any, int]]:
            for one in given:
                try:
                    yield Line(request(one), {}), len(one) if isinstance(one, str) else 0
                except ConfigurationError as error:
                    yield Line({"error": str(error)}, {}, wrong=True), 0

        for record in self.predicted(inputs(), batch_size or self.at_once):
            yield Record(record)

    @property
    def at_once(self) -> int:
        """The default batch size for the inputs of a file."""
        return getattr(self.predictor, "lines_at_once", 1)

    def lines(self, path: str, shard: Optional[Shard] = None) -> Iterator[tuple[Any, int]]:
        """Yields the request of each line of a file, or of a shard of it, with the line's number of characters."""
        for line in input_lines(path, shard):
            yield self.predictor.load_line(line), len(line)

    def instances(self, path: str) -> Iterator[tuple[Any, int]]:
        """Yields the instances that the model's reader reads from a data file, each with the size 0."""
        return ((instance, 0) for instance in self.predictor._dataset_reader.read(path))

    def predicted(self, inputs: Iterable[tuple[Any, int]], at_once: int) -> Iterator[Any]:
        """Yields the record of each input of `lines` or `instances`, predicted in batches of at most `at_once`."""
        for group in _groups(inputs, at_once):
            what = "instance" if isinstance(group[0], Instance) else "json"
            if len(group) == 1:
                yield getattr(self.predictor, f"predict_{what}")(group[0])
            else:
                yield from getattr(self.predictor, f"predict_batch_{what}")(group)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {type(self.predictor).__name__})"


def _groups(inputs: Iterable[tuple[Any, int]], at_once: int) -> Iterator[list[Any]]:
    group: list[Any] = []
    characters = 0
    for given, size in inputs:
        group.append(given)
        characters += size
        if len(group) >= at_once or characters >= MOST_CHARACTERS_AT_ONCE:
            yield group
            group, characters = [], 0
    if group:
        yield group


@contextmanager
def errors_explained() -> Iterator[None]:
    """A context that converts a `ConfigurationError` to an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except ConfigurationError as error:
        raise InputError(str(error)) from error


def load(
    name: Union[str, os.PathLike],
    device: Union[str, int, torch.device, None] = None,
    split_sentences: Optional[bool] = None,
    **arguments: Any,
) -> Pipeline:
    """The implementation of `seal.load`."""
    with errors_explained():
        path = user_path(os.fspath(name))
        archive = open_archive(path, device_number(device))
        pipeline = Pipeline.of_archive(archive, path, arguments=arguments)
        if isinstance(pipeline.predictor, SentencePredictor):
            pipeline.predictor.set_splitting(split_sentences)
        elif split_sentences:
            raise ConfigurationError("split_sentences is for models of sentences; leave it out.")
        return pipeline


def device_number(device: Union[str, int, torch.device, None]) -> int:
    """AllenNLP's number of a device: the index of a GPU, or -1 for the CPU; `None` is the CPU."""
    if device is None or device == -1:
        return -1
    try:
        torch_device = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ConfigurationError(
            f"device must be 'cpu', 'cuda' or 'cuda:1', or a number, found {abbreviate(device)}."
        ) from error
    if torch_device.type == "cpu":
        return -1
    if torch_device.type != "cuda":
        raise ConfigurationError(f"device must be 'cpu' or a GPU of CUDA, found {abbreviate(str(torch_device))}.")
    number = torch_device.index or 0
    check_for_gpu(number)
    return number
