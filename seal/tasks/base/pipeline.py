"""
From raw input to records, with a trained model: `seal.load` makes a `Pipeline`, and the commands `predict` and `demo`
are built on it.
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

#: No more than about as many characters of inputs are in memory at once, unless a single input is longer.
MOST_CHARACTERS_AT_ONCE = 2**20


class InputError(ConfigurationError, ValueError):
    """What is wrong with an input, with a model or with its name, in one sentence; programs may catch `ValueError`."""


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
        That of the model's task. Its docstring has the keys of a record, and what an object of the input may have.
    name : `str`, optional (default = `""`)
        How the model was called.
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
        The pipeline of an archive that was opened.

        # Parameters

        archive : `Archive`
        name : `str`, optional (default = `""`)
        predictor : `str`, optional (default = `None`)
            The registered name of a predictor in place of that of the model.
        reader : `str`, optional (default = `"validation"`)
            `"train"` or `"validation"`: which of the archive's readers, where it has two.
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
        The record of an input, or those of several, which are predicted many at once, when they are asked for.

        # Parameters

        given :
            A text (`str`), or an object (`dict`) as a line of the input of `seal predict` may hold. For label sets of
            features, a row: a list of numbers, an array, or an object of numbers by attribute. For masks, an image: its
            path, an array `(height, width, 3)` of bytes, or one of Pillow. Any iterable of these is several inputs.
        batch_size : `int`, optional (default = `256`; `1` for images)
            How many of several inputs are read and predicted at once.

        # Returns

        `Record`, or an iterator with a `Record` for each of several inputs, in order. A text of several sentences gives
        a record with the one key `sentences`, a list of records.

        # Raises

        `InputError` if the input is wrong. Of several, the record of a wrong one has, as its only key, `error`.
        """
        with errors_explained():
            check_range("batch_size", batch_size, least=1)
            if not isinstance(self.predictor, LinePredictor):
                is_one, request = isinstance(given, dict), lambda one: one
            else:
                is_one, request = self.predictor.is_one(given), self.predictor.request
            if is_one or not isinstance(given, Iterable):
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
        """How many inputs of a file are predicted at once, unless another number is given."""
        return getattr(self.predictor, "lines_at_once", 1)

    def lines(self, path: str, shard: Optional[Shard] = None) -> Iterator[tuple[Any, int]]:
        """What is read of each line of a file, or of a shard of it, with the number of its characters."""
        for line in input_lines(path, shard):
            yield self.predictor.load_line(line), len(line)

    def instances(self, path: str) -> Iterator[tuple[Any, int]]:
        """The instances that the model's reader gives of a file of data, with 0: they are small."""
        return ((instance, 0) for instance in self.predictor._dataset_reader.read(path))

    def predicted(self, inputs: Iterable[tuple[Any, int]], at_once: int) -> Iterator[Any]:
        """The record of each input of `lines` or `instances`; `at_once`, or fewer where they are long."""
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
    """Inside, what a user can correct is an `InputError`."""
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
    """As `seal.load`, which imports this module."""
    with errors_explained():
        path = user_path(os.fspath(name))
        archive = open_archive(path, number_of(device))
        pipeline = Pipeline.of_archive(archive, path, arguments=arguments)
        if isinstance(pipeline.predictor, SentencePredictor):
            pipeline.predictor.set_splitting(split_sentences)
        elif split_sentences:
            raise ConfigurationError("split_sentences is for models of sentences; leave it out.")
        return pipeline


def number_of(device: Union[str, int, torch.device, None]) -> int:
    """AllenNLP's number of a device: that of a GPU, or -1 for the CPU, which `None` is."""
    if device is None or device == -1:
        return -1
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ConfigurationError(
            f"device must be 'cpu', 'cuda' or 'cuda:1', or a number, found {abbreviate(device)}."
        ) from error
    if found.type == "cpu":
        return -1
    if found.type != "cuda":
        raise ConfigurationError(f"device must be 'cpu' or a GPU of CUDA, found {abbreviate(str(found))}.")
    number = found.index or 0
    check_for_gpu(number)
    return number
