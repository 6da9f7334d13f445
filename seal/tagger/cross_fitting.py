"""`cross_fit`: emissions of a whole data set by taggers that have not seen the sentence, by any training function."""

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

#: Where the input of an example is: the first of these that it has.
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
    Emissions of each example by a tagger that was trained without it: what `StructuredTagger.fit` learns from.

    Examples with equal inputs are in one fold. The input is given by `inputs`, or it is found in the example: in a
    dictionary or object what is called `words`, `tokens`, `text`, `sentence` or `input_ids`; of `(words, tags)` or
    `[words, tags]` the first part; of a list of `(word, tag)` for each token the words; text, a list of words or a
    number as it is. `say` is told if there are other examples, of which equal ones are not seen.

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
    inputs : `Sequence`, optional
        What the tagger reads of each example: its words or its text.
    exact : `bool`, optional (default = `False`)
        Whether inputs that differ in case or white space alone differ.

    # Returns

    `list[torch.Tensor]`: `(tokens, tags)` of each example, in the order of `data`, of single precision, on the CPU

    # Raises

    `ConfigurationError` if there are fewer groups than folds, the function does not return such emissions, or the
    folder has those of other data.
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
    # What a kept fold must be of: the same examples, gold as well, dealt out in the same way.
    of_examples = [content(example, exact=True) or 0 for example in examples]
    name_of_data = (
        f"{digest(numpy.array(of_examples, dtype=numpy.uint64), equal, together):016x}, {folds} folds, seed {seed}"
    )
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    found: list[torch.Tensor] = [torch.empty(0)] * len(examples)
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
            found[place] = row
    widths = {row.shape[1] for row in found}
    if len(widths) > 1:
        raise ConfigurationError(f"train: the folds have different numbers of tags, {sorted(widths)}; name them all.")
    return found


def _one_each(values: Sequence[Any], name: str, examples: list) -> list:
    found = list(values)
    if len(found) != len(examples):
        raise ConfigurationError(f"{name}: one for each of the {len(examples)} examples, found {len(found)}.")
    return found


def _input(example: Any) -> Any:
    """What a tagger reads of an example; an object like no other where that is not found."""
    of_names = dict(example) if isinstance(example, dict) else {n: getattr(example, n, None) for n in INPUTS}
    for name in INPUTS:
        if of_names.get(name) is not None and content(of_names[name]) is not None:
            return of_names[name]
    is_nested = isinstance(example, (list, tuple)) and any(isinstance(part, (list, tuple)) for part in example)
    if isinstance(example, list) and len(example) > 3 and is_nested:
        # A row for each token.
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
