"""`cross_fit`: held-out emissions of a data set by cross-fitting, with any function that trains a tagger."""

import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy
import torch

from seal.common.equal_contents import content, digest, folds_of_equal, numbers_of_equal
from seal.common.setting_checks import abbreviate
from seal.files.weights import read_tensors, write_tensors
from seal.registry import ConfigurationError
from seal.tagger.data import real_numbers

#: The names under which the input of an example is looked up, in this order.
INPUTS = ("words", "tokens", "text", "sentence", "input_ids")


def cross_fit(
    train: Callable[[list, list], Sequence[Any]],
    data: Sequence[Any],
    folds: int = 3,
    groups: Sequence[Any] | None = None,
    folder: str | os.PathLike | None = None,
    seed: int = 0,
    say: Callable[[str], None] = print,
    inputs: Sequence[Any] | None = None,
    exact: bool = False,
) -> list[torch.Tensor]:
    """
    Held-out emissions for `StructuredTagger.fit`: a tagger that was trained without an example computes its emissions.

    Examples with equal inputs are in one fold. The input is given by `inputs`, or is read from the example:

    - a dictionary or object: its `words`, `tokens`, `text`, `sentence` or `input_ids`;
    - `(words, tags)` or `[words, tags]`: the first part;
    - a list of `(word, tag)`: the words;
    - a text, a list of words or a number: the example itself.

    For other examples a warning goes to `say`, as equal ones are not recognised.

    # Parameters

    train : `Callable[[list, list], Sequence]`
        `train(seen, unseen)` trains a new tagger on the examples `seen`, and returns its emissions for each of
        `unseen`: log-odds or log-probabilities, `(tokens, tags)`.
    data : `Sequence`
        The examples, of any type; `range(n)` if they are stored elsewhere.
    folds : `int`, optional (default = `3`)
        The number of taggers that are trained, at least 2, each without one fold.
    groups : `Sequence`, optional
        Examples of one group, such as the sentences of a text, are in one fold. An example whose input equals one in
        the held-out fold is left out of training, whatever its group.
    folder : path, optional
        The folder in which the emissions of each fold are saved. The same call, after an interruption, continues there.
    seed : `int`, optional (default = `0`)
        The seed of the split into folds. `train` seeds its own training.
    say : `Callable[[str], None]`, optional (default = `print`)
        Gets a sentence about each fold.
    inputs : `Sequence`, optional
        The input of each example that the tagger reads: its words or its text.
    exact : `bool`, optional (default = `False`)
        If false, inputs that differ only in case or white space are equal.

    # Returns

    `list[torch.Tensor]`: `(tokens, tags)` of each example, in the order of `data`, of single precision, on the CPU

    # Raises

    `ConfigurationError` if there are fewer groups than folds, `train` does not return such emissions, or the folder
    has emissions of other data.
    """
    examples = list(data)
    read = _one_each(inputs, "inputs", examples) if inputs is not None else list(map(_input, examples))
    unknown = sum(content(each) is None for each in read)
    if unknown:
        say(f"Of {unknown} examples the words are not found, so equal ones may be in two folds; give their inputs=.")
    equal = together = numbers_of_equal(read, exact)
    if groups is not None:
        together = numbers_of_equal(_one_each(groups, "groups", examples), exact=True)
    different = int(together.max(initial=-1)) + 1
    if not isinstance(folds, Integral) or folds < 2 or different < folds:
        kind = "inputs" if groups is None else "groups"
        raise ConfigurationError(
            f"folds: a whole number of at least 2, and at most as many as there are different {kind} ({different}), "
            f"found {folds}."
        )
    parts = folds_of_equal(together, folds, seed)
    # A saved fold is reused for the same examples, gold included, with the same split.
    digests = [content(example, exact=True) or 0 for example in examples]
    data_digest = digest(numpy.array(digests, dtype=numpy.uint64), equal, together)
    name_of_data = f"{data_digest:016x}, {folds} folds, seed {seed}"
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    emissions: list[torch.Tensor] = [torch.empty(0)] * len(examples)
    for number, unseen in enumerate(parts):
        path = None if folder is None else os.path.join(folder, f"fold-{number + 1}.safetensors")
        if path is not None and os.path.exists(path):
            rows = _read(path, name_of_data)
            say(f"Fold {number + 1} of {folds} was scored before.")
        else:
            seen = numpy.flatnonzero(~numpy.isin(equal, equal[unseen])).tolist()
            say(f"Fold {number + 1} of {folds}: {len(seen)} examples are learned from, {len(unseen)} scored.")
            rows = _checked(train([examples[place] for place in seen], [examples[place] for place in unseen]), unseen)
            if path is not None:
                _write(path, rows, name_of_data)
        for place, row in zip(unseen, rows):
            emissions[place] = row
    widths = {row.shape[1] for row in emissions}
    if len(widths) > 1:
        raise ConfigurationError(f"train: the folds have different numbers of tags, {sorted(widths)}; name them all.")
    return emissions


def _one_each(values: Sequence[Any], name: str, examples: list) -> list:
    found = list(values)
    if len(found) != len(examples):
        raise ConfigurationError(f"{name}: one for each of the {len(examples)} examples, found {len(found)}.")
    return found


def _input(example: Any) -> Any:
    """The input of an example (see `cross_fit`); a new object, equal to no other, for a dictionary without one."""
    fields = dict(example) if isinstance(example, dict) else {n: getattr(example, n, None) for n in INPUTS}
    for name in INPUTS:
        if fields.get(name) is not None and content(fields[name]) is not None:
            return fields[name]
    is_nested = isinstance(example, (list, tuple)) and any(isinstance(part, (list, tuple)) for part in example)
    if isinstance(example, list) and len(example) > 3 and is_nested:
        # A list of tokens.
        return [_input(part) for part in example]
    if is_nested or (isinstance(example, tuple) and example):
        return _input(example[0])
    return object() if isinstance(example, dict) else example


def _checked(rows: Any, unseen: list[int]) -> list[torch.Tensor]:
    try:
        found = [real_numbers(row).to("cpu", torch.float32) for row in rows]
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"train: emissions, (tokens, tags) of each example, are needed, found {abbreviate(rows)}."
        ) from error
    if len(found) != len(unseen):
        raise ConfigurationError(
            f"train: emissions of each of the {len(unseen)} unseen examples are needed, found {len(found)}."
        )
    width = next((row.shape[1] for row in found if row.dim() == 2), 0)
    for place, row in zip(unseen, found):
        if row.dim() != 2 or row.shape[1] != width or bool(row.isnan().any()):
            what = "with NaN" if row.dim() == 2 and row.shape[1] == width else f"of shape {tuple(row.shape)}"
            raise ConfigurationError(f"train: emissions of example {place} must be (tokens, tags), found some {what}.")
    return found


def _write(path: str, rows: list[torch.Tensor], name_of_data: str) -> None:
    lengths = torch.tensor([len(row) for row in rows])
    write_tensors(path, {"emissions": torch.cat(rows), "lengths": lengths}, {"data": name_of_data})


def _read(path: str, name_of_data: str) -> list[torch.Tensor]:
    tensors, text = read_tensors(path)
    if text.get("data") != name_of_data:
        raise ConfigurationError(
            f"folder: '{path}' is of other data, folds or seeds; name another folder, or remove this one."
        )
    return list(tensors["emissions"].split(tensors["lengths"].tolist()))
