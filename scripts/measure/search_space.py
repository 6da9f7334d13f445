"""The search space of `tune.py`: dotted keys of a config, and the values of each."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from allennlp.common.checks import ConfigurationError

from scripts.measure.suite import UserError
from seal.files.records import read_json

_NAMES = ("low", "high", "log", "step")


@dataclass(frozen=True)
class Range:
    """
    Numbers from `low` to `high`: whole ones if both ends are, in steps; else real numbers, which are drawn with three
    digits.
    """

    low: float
    high: float
    log: bool = False
    step: int = 1

    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high

    def holds(self, value: Any) -> bool:
        if type(value) not in (int, float) or not self.low <= value <= self.high:
            return False
        return not self._whole or type(value) is int and (value - self.low) % self.step == 0

    def parameter(self, value: Any) -> Any:
        """The value as Optuna keeps it."""
        return value

    def suggest(self, trial: Any, key: str) -> Any:
        if self._whole:
            return trial.suggest_int(key, self.low, self.high, step=self.step, log=self.log)
        value = trial.suggest_float(key, self.low, self.high, log=self.log)
        if trial.user_attrs.get("own"):
            return value
        # Rounded before it is used, so that the printed value was trained.
        return float(min(max(float(f"{value:.3g}"), self.low), self.high))

    @property
    def _whole(self) -> bool:
        return type(self.low) is int and type(self.high) is int


@dataclass(frozen=True)
class Choice:
    """A few values, of any kind that JSON has."""

    values: tuple[Any, ...]

    def ends(self) -> tuple[Any, ...]:
        return self.values

    def holds(self, value: Any) -> bool:
        return value in self.values

    def parameter(self, value: Any) -> Any:
        # Optuna keeps no lists and no objects.
        return json.dumps(next(known for known in self.values if known == value))

    def suggest(self, trial: Any, key: str) -> Any:
        return json.loads(trial.suggest_categorical(key, [json.dumps(value) for value in self.values]))


Space = dict[str, Union[Range, Choice]]


def read_space(path: Path) -> Space:
    """
    The space that a JSON file describes: by dotted key, a list of values or the ends of a range. Raises `UserError` if
    it cannot be read or is none.
    """
    try:
        content = read_json(path.read_text(encoding="utf-8"), "this is not JSON", str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--search: {path} cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    except ConfigurationError as error:
        raise UserError(f"--search: {error}") from error
    if not isinstance(content, dict) or not content:
        raise UserError(
            f'--search: {path} must be an object of dotted config keys, such as {{"trainer.patience": [3, 5]}}.'
        )
    return {key: _values(f"--search: '{key}'", given) for key, given in content.items()}


def as_json(space: Space) -> dict[str, Any]:
    """The space as plain values, for a comparison with another one."""
    return {key: list(values.values) if isinstance(values, Choice) else vars(values) for key, values in space.items()}


def _values(where: str, given: Any) -> Union[Range, Choice]:
    if isinstance(given, list):
        if not given:
            raise UserError(f"{where} must have at least one value in its list.")
        if len({json.dumps(value, sort_keys=True) for value in given}) < len(given):
            raise UserError(f"{where} has a value twice.")
        return Choice(tuple(given))
    if not isinstance(given, dict) or not {"low", "high"} <= set(given) <= set(_NAMES):
        raise UserError(
            f'{where} must be a list of values or a range such as {{"low": 1e-5, "high": 1e-2, "log": true}}, with '
            f'"step" for whole numbers, not {json.dumps(given)}.'
        )
    found = Range(**given)
    whole = type(found.low) is int and type(found.high) is int
    if not all(type(end) in (int, float) for end in found.ends()) or found.low >= found.high:
        raise UserError(f"{where}: low must be a number below high, not {found.low!r} and {found.high!r}.")
    if type(found.log) is not bool or found.log and found.low <= 0:
        raise UserError(f"{where}: log must be true or false, and true only for a low above 0.")
    if type(found.step) is not int or found.step < 1 or found.step > 1 and (found.log or not whole):
        raise UserError(f"{where}: step must be a whole number of at least 1, and is for whole numbers without log.")
    return found
