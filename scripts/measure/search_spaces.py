"""What a hyper-parameter search may choose, by method: names of `multilabel_settings.libsonnet` and their ranges."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from typing import Any, Dict, List, Tuple, Union

from scripts.measure.configs import library_value, listed, not_evaluated, text
from scripts.measure.grid import Grid, is_tuned
from scripts.measure.suite import UserError

GRID = Grid("multilabel")

#: The settings that the first trials change in the config, one at a time, and the factor by which they change them.
NEIGHBOURS, FACTOR = ("energy_weight", "loss_net_lr", "task_net_lr"), 3.0


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`. With `step` they are integers, else real numbers of 3 digits."""

    low: float
    high: float
    log: bool = False
    step: int = 0

    def with_value(self, value: float) -> "Range":
        """The range, widened where needed to hold `value`, its step reduced where needed to reach `value`."""
        step = gcd(self.step, int(value) - int(self.low)) if self.step else 0
        return replace(self, low=min(self.low, value), high=max(self.high, value), step=step)

    def suggest(self, trial: Any, name: str) -> float:
        if self.step:
            return trial.suggest_int(name, self.low, self.high, step=self.step)
        # Rounded before it is used: what is printed is what was trained.
        return float(f"{trial.suggest_float(name, self.low, self.high, log=self.log):.3g}")


@dataclass(frozen=True)
class Choice:
    values: Tuple[Any, ...]

    def with_value(self, value: Any) -> "Choice":
        return self if value in self.values else Choice(tuple(sorted((*self.values, value))))

    def suggest(self, trial: Any, name: str) -> Any:
        return trial.suggest_categorical(name, list(self.values))


Space = Dict[str, Union[Range, Choice]]

# Each range is roughly that of the values that the papers' authors found best on their data sets: "tables" are
# Tables 4 to 10 of SEAL's ICLR 2022 submission, "configs" those that the authors published; both are in
# training_configs/lib/multilabel_settings.libsonnet. A config's own value widens a range that it lies outside of, and
# reduces the step of a range that it lies between the steps of.

# Tables: 0.0002 to 9; all but two of them from 0.001. With one step a batch larger ones are better (bibtex, NCE: 15).
ENERGY_WEIGHT = Range(1e-3, 100.0, log=True)
# Ours: the paper reports none of its lambda.
PERCEPTRON_WEIGHT = Range(0.1, 10.0, log=True)
# Tables: task-net 1e-4 to 8e-3, loss-net 1.5e-5 to 8e-3; configs reach 1e-2.
LEARNING_RATE = Range(1.5e-5, 1e-2, log=True)
# Configs of energy-only models: 1.02e-5 to 3.54e-3.
ENERGY_ONLY_LEARNING_RATE = Range(1e-5, 1e-2, log=True)
# Configs: 1, 5 or 10, and 6 once.
TASK_NET_STEPS = Choice((1, 5, 10))
# Configs: 1 with the margin loss, where it is not searched; 3, 6, 9 or 12 with others, and 5 once.
LOSS_NET_STEPS = Choice((1, 3, 6, 9, 12))
# Tables, NCE and ranking: 20 to 100.
DRAWS = Range(20, 100, step=20)
# Tables, regression-s: 5 to 30.
NOISY_OUTPUTS = Range(5, 30, step=5)
# Configs: 0 to 0.5.
DROPOUT = Range(0.0, 0.6)
# Configs: 1e-5 mostly, 8.2e-6 to 4e-2 where it was searched. Below 1e-6 it does nothing.
WEIGHT_DECAY = Range(1e-6, 1e-2, log=True)
# Configs of DVN: 0.055 to 0.57, with 30 steps; those of the other energy-only models: 0.1, with 20.
STEP_SIZE = Range(0.04, 0.6, log=True)
INFERENCE_STEPS = Choice((20, 30))
# Ours, as the paper searches by Adam alone: what helped a DVN most.
SEARCH: Space = {"inference_optimizer": Choice(("adam", "sgd")), "search_path": Choice((False, True))}
# Ours: None is as many as in training.
PREDICTION_STEPS = Choice((None, 20, 25, 30, 35, 40, 50))
# Ours. None: no averaging.
AVERAGE_WEIGHTS = Choice((None, 0.99, 0.999))

_TASK_NET: Space = {
    "task_net_lr": LEARNING_RATE,
    "dropout": DROPOUT,
    "weight_decay": WEIGHT_DECAY,
    "average_weights": AVERAGE_WEIGHTS,
}
_ENERGY_ONLY: Space = {
    "loss_net_lr": ENERGY_ONLY_LEARNING_RATE,
    "dropout": DROPOUT,
    "weight_decay": WEIGHT_DECAY,
    "average_weights": AVERAGE_WEIGHTS,
    "step_size": STEP_SIZE,
    "inference_steps": INFERENCE_STEPS,
}
# The run trains both nets, one after the other.
_STATIC: Space = {
    "energy_weight": ENERGY_WEIGHT,
    **_TASK_NET,
    "loss_net_lr": ENERGY_ONLY_LEARNING_RATE,
    "task_net_steps": TASK_NET_STEPS,
}
_MARGIN: Space = {
    "energy_weight": ENERGY_WEIGHT,
    **_TASK_NET,
    "loss_net_lr": LEARNING_RATE,
    "task_net_steps": TASK_NET_STEPS,
}
_REGRESSION: Space = {**_MARGIN, "loss_net_steps": LOSS_NET_STEPS}
_NCE: Space = {**_REGRESSION, "num_samples": DRAWS}
# Ours: the papers give no value for implicit training.
_IMPLICIT: Space = {**_MARGIN, "damping": Range(1e-3, 10.0, log=True), "solver_steps": Choice((1, 3, 5, 10))}


def _no_cross_entropy(space: Space) -> Space:
    """The energy is all there is: its weight is 1, and Adam's updates do not depend on the scale of such a loss."""
    return {name: values for name, values in space.items() if name != "energy_weight"}


SPACES: Dict[str, Space] = {
    "alternating_ssvm": _MARGIN,
    "alternating_dvn": _MARGIN,
    "alternating_cd": {**_MARGIN, "num_samples": DRAWS},
    "implicit_ssvm": _IMPLICIT,
    "implicit_dvn": _IMPLICIT,
    "implicit_cd": {**_IMPLICIT, "num_samples": DRAWS},
    "implicit_compound": {**_IMPLICIT, "perceptron_weight": PERCEPTRON_WEIGHT},
    "implicit_cd_margin": {**_IMPLICIT, "num_samples": DRAWS, "perceptron_weight": PERCEPTRON_WEIGHT},
    "cross_entropy": _TASK_NET,
    "spen": _ENERGY_ONLY,
    "dvn": {**_ENERGY_ONLY, **SEARCH, "prediction_steps": PREDICTION_STEPS},
    "nce_energy": {**_ENERGY_ONLY, "num_samples": DRAWS},
    "static_margin": _STATIC,
    "static_regression": {**_STATIC, **SEARCH},
    "static_nce": {**_STATIC, "num_samples": DRAWS},
    "margin": _MARGIN,
    "regression": _REGRESSION,
    "regression_s": {**_REGRESSION, "num_samples": NOISY_OUTPUTS},
    "nce": _NCE,
    "ranking": _NCE,
    "partition": _NCE,
    "margin_no_ce": _no_cross_entropy(_MARGIN),
    "regression_no_ce": _no_cross_entropy(_REGRESSION),
    "nce_no_ce": _no_cross_entropy(_NCE),
    "regression_discrete": _NCE,
    "task_net_ranking": {**_TASK_NET, "num_samples": DRAWS},
}


#: Names and jsonnet values of settings that no trial changes.
Held = Tuple[Tuple[str, str], ...]


def own_settings(dataset: str, method: str, held: Held = ()) -> Dict[str, Any]:
    """The config's values of the settings that the method's space names, without those that are `held`."""
    names = set(SPACES[method]) - {name for name, _ in held}
    return {name: value for name, value in all_settings(dataset, method, held).items() if name in names}


def search_space(dataset: str, method: str, held: Held = ()) -> Space:
    """The method's space without what is `held`, wide enough to hold the config's own settings."""
    own = own_settings(dataset, method, held)
    return {name: values.with_value(own[name]) for name, values in SPACES[method].items() if name in own}


def first_trials(dataset: str, method: str, held: Held = ()) -> List[Dict[str, Any]]:
    """
    The settings of the first trials: the config's own, then these with one of `NEIGHBOURS` multiplied or divided by
    `FACTOR`, where the result lies in the space. Good settings are mostly near the config's own, and a random draw from
    ranges of several decades is mostly not.
    """
    own, space = own_settings(dataset, method, held), search_space(dataset, method, held)
    changed = [
        {**own, name: float(f"{own[name] * factor:.3g}")}
        for name in NEIGHBOURS
        if name in space
        for factor in (FACTOR, 1 / FACTOR)
        if space[name].low <= own[name] * factor <= space[name].high
    ]
    return [own, *changed]


@lru_cache(maxsize=None)
def earlier_epochs(dataset: str, method: str, held: Held = ()) -> int:
    """
    How many epochs a run has before its last phase.

    # Raises

    `UserError` if there is no config with the `held` settings, or if they give a phase no whole number of epochs.
    """
    rest = {name: value for name, value in held if name != "tuned"}
    experiment = GRID.call(dataset, method, rest, is_tuned(dict(held)))
    try:
        phases = library_value(
            "multilabel.libsonnet", f"local multilabel = lib; std.get(({experiment}).trainer, 'phases', [])"
        )
    except RuntimeError as error:
        raise not_evaluated(error) from error
    epochs = [phase.get("epochs", 0) for phase in phases]
    if not all(isinstance(number, int) for number in epochs):
        raise UserError("--settings: the epochs of a phase must be a whole number.")
    return sum(epochs)


@lru_cache(maxsize=None)
def all_settings(dataset: str, method: str, held: Held = ()) -> Dict[str, Any]:
    """The config's settings, with those that are `held`; without `dropout` if the nets have one layer."""
    rest = {name: value for name, value in held if name != "tuned"}
    of = f"{text(dataset)}, {text(method)}, {json.dumps(is_tuned(dict(held)))}"
    settings = library_value(
        "multilabel.libsonnet", f"local multilabel = lib; lib.settings({of}) + {{ {listed(': ', rest)} }}"
    )
    if settings["num_layers"] == 1:
        # Dropout stands between layers.
        del settings["dropout"]
    return settings
