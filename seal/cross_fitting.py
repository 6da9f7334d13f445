"""`cross_fit`: emissions of a whole data set by taggers that have not seen the sentence, by any training function."""

import json
import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy
import torch

from seal.common.equal_contents import digest, folds_of_equal, in_order
from seal.common.setting_checks import short
from seal.files.weights import read_tensors, write_tensors
from seal.registry import ConfigurationError

#: The keys of an example that are no input.
GOLD = ("tags", "labels", "label", "ner_tags", "gold")


def cross_fit(
    train: Callable[[list, list], Sequence[Any]],
    data: Sequence[Any],
    folds: int = 3,
    groups: Sequence[Any] | None = None,
    folder: str | os.PathLike | None = None,
    seed: int = 0,
    say: Callable[[str], None] = print,
) -> list[torch.Tensor]:
    """
    Emissions of each example by a tagger that was trained without it: what `StructuredTagger.fit` learns from.

    Examples with equal inputs are in one fold. The input is an example without its gold: the first part of a tuple, a
    dictionary without the keys `tags`, `labels`, `label`, `ner_tags` and `gold`, or else the example. One that is
    neither text, numbers nor lists and dictionaries of them is taken for unlike all others.

    # Parameters

    train : `Callable[[list, list], Sequence]`
        `train(seen, unseen)` trains a new tagger on the examples `seen`, and returns its emissions of each of `unseen`,
        `(tokens, tags)`, log-odds or log-probabilities.
    data : `Sequence`
        The examples, of any kind; `range(n)` where these are elsewhere.
    folds : `int`, optional (default = `3`)
        So many taggers are trained, at least 2, each without one fold.
    groups : `Sequence`, optional
        Examples of one group are in one fold, such as the sentences of a text. Where examples of two groups are equal,
        none is trained on that equals one which is scored.
    folder : path, optional
        Where the emissions of each fold are kept, so that the same call goes on where a killed one was.
    seed : `int`, optional (default = `0`)
        Of the folds. The seed of a training is the function's own affair.
    say : `Callable[[str], None]`, optional (default = `print`)
        Is told of each fold.

    # Returns

    `list[torch.Tensor]`: `(tokens, tags)` of each example, in the order of `data`, of single precision, on the CPU

    # Raises

    `ConfigurationError` if there are fewer groups than folds, the function does not return such emissions, or the
    folder has those of other data.
    """
    examples = list(data)
    inputs = together = in_order(_contents([_input(example) for example in examples]))
    if groups is not None:
        names = list(groups)
        if len(names) != len(examples):
            raise ConfigurationError(f"groups: one for each of the {len(examples)} examples, found {len(names)}.")
        together = in_order(_contents(names))
    different = int(together.max(initial=-1)) + 1
    if not isinstance(folds, Integral) or folds < 2 or different < folds:
        kind = "inputs" if groups is None else "groups"
        raise ConfigurationError(
            f"folds: a whole number of at least 2, and at most as many as there are different {kind} ({different}), "
            f"found {folds}."
        )
    parts = folds_of_equal(together, folds, seed)
    # What a kept fold must be of: the same examples, gold as well, dealt out in the same way.
    name_of_data = f"{digest(_contents(examples), inputs, together):016x}, {folds} folds, seed {seed}"
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    found: list[torch.Tensor] = [torch.empty(0)] * len(examples)
    for number, unseen in enumerate(parts):
        path = None if folder is None else os.path.join(folder, f"fold-{number + 1}.safetensors")
        if path is not None and os.path.exists(path):
            rows = _read(path, name_of_data)
            say(f"Fold {number + 1} of {folds} was scored before.")
        else:
            seen = numpy.flatnonzero(~numpy.isin(inputs, inputs[unseen])).tolist()
            say(f"Fold {number + 1} of {folds}: {len(seen)} examples are learned from, {len(unseen)} scored.")
            rows = _checked(train([examples[place] for place in seen], [examples[place] for place in unseen]), unseen)
            if path is not None:
                _write(path, rows, name_of_data)
        for place, row in zip(unseen, rows):
            found[place] = row
    widths = {row.shape[1] for row in found}
    if len(widths) > 1:
        raise ConfigurationError(f"train: the folds have different numbers of tags, {sorted(widths)}; name them all.")
    return found


def _input(example: Any) -> Any:
    """An example without its gold."""
    if isinstance(example, tuple) and example:
        return example[0]
    if isinstance(example, dict):
        return {name: value for name, value in example.items() if name not in GOLD}
    return example


def _contents(values: list[Any]) -> numpy.ndarray:
    """A number for each value, `(values,)`, the same for equal ones."""

    def listed(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError

    numbers = []
    for place, value in enumerate(values):
        try:
            numbers.append(digest(json.dumps(value, default=listed, sort_keys=True).encode()))
        except (TypeError, ValueError):
            numbers.append(place)
    return numpy.array(numbers, dtype=numpy.uint64)


def _checked(rows: Any, unseen: list[int]) -> list[torch.Tensor]:
    try:
        found = [torch.as_tensor(row).detach().to("cpu", torch.float32) for row in rows]
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"train: emissions, (tokens, tags) of each example, are needed, found {short(rows)}."
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
