"""Configs of the jsonnet libraries whose settings are tables: multi-label data and segmentation."""

import json
from functools import lru_cache
from typing import Any, Optional

from scripts.measure.configs import call, imported, library_value, listed, not_evaluated, text
from scripts.measure.suite import Settings, UserError

#: The place of a data set's settings in a library: beside the methods, or beside the settings of training.
METHOD = {"multilabel": "method_for.{dataset}.{method}", "segmentation": "method.{method}"}
TUNED = "tuned_for.{dataset}.{method}"
TRAINING = {"multilabel": "", "segmentation": "segmentation.training.{dataset} + "}
#: The encoder that takes an experiment's settings of encoders.
ENCODER = {"multilabel": "mlp", "segmentation": "convolution"}


class Grid:
    """`name`: the library is `training_configs/lib/NAME.libsonnet`."""

    def __init__(self, name: str) -> None:
        self._name, self._file = name, f"{name}.libsonnet"
        self.library = lru_cache(maxsize=None)(self._library)
        self.setting_names = lru_cache(maxsize=None)(self._setting_names)
        self.read = lru_cache(maxsize=None)(self._names_read)
        self._arguments = lru_cache(maxsize=None)(self._names_of_arguments)

    def _library(self) -> dict[str, Any]:
        """The paths and the number of epochs of each data set, in one evaluation of jsonnet."""
        return library_value(
            self._file,
            "{ [name]: { paths: { train: lib.data[name].train, valid: lib.data[name].valid, "
            "test: std.get(lib.data[name], 'test') }, epochs: lib.settings(name, 'cross_entropy').epochs } "
            "for name in std.objectFields(lib.data) }",
        )

    def _names_of_arguments(self) -> dict[str, list[str]]:
        return library_value(self._file, "lib.arguments")

    def data(self, name: str) -> dict[str, Optional[str]]:
        # Evaluated jsonnet has its names in alphabetical order; tables follow this one.
        return {split: self.library()[name]["paths"][split] for split in ("train", "valid", "test")}

    def _setting_names(self, dataset: str, method: str) -> list[str]:
        """What `--settings` may set: the seed and the epochs have options of their own."""
        names = library_value(self._file, f"std.objectFields(lib.settings({text(dataset)}, {text(method)}))")
        more = ["tuned"] if self._name == "multilabel" else []
        return [*more, *(name for name in names if name not in ("seed", "epochs"))]

    def experiment(self, dataset: str, method: str, settings: Settings) -> str:
        """
        The config's text. It has none of the settings that the method does not read, which the library refuses: several
        methods may be given the same. Raises `UserError` if the library cannot be evaluated with the settings.
        """
        used = self.read(dataset, method, settings.more)
        more = {name: value for name, value in settings.more if name in used}
        tuned = is_tuned(dict(settings.more))
        given = {"epochs": str(settings.epochs), "seed": str(settings.seed), **more}
        return imported(self._name) + self.call(dataset, method, given, tuned)

    def call(self, dataset: str, method: str, settings: dict[str, str], tuned: bool = False) -> str:
        """
        The call of the library's `experiment` with these settings, jsonnet values by name, each in the argument that it
        belongs to.
        """
        of = self._arguments()
        parts = {part: {n: v for n, v in settings.items() if n in of[part]} for part in of}
        training = {name: value for name, value in settings.items() if not any(name in names for names in of.values())}
        place = {"dataset": dataset, "method": method}
        base = TRAINING[self._name].format(**place)
        arguments = {"data": f"{self._name}.data.{dataset}"}
        if parts["encoder"]:
            arguments["encoder"] = f"{self._name}.encoder.{ENCODER[self._name]}({listed('=', parts['encoder'])})"
        called = (TUNED if tuned else METHOD[self._name]).format(**place)
        arguments["method"] = f"{self._name}.{called}({listed('=', parts['method'])})"
        if training:
            arguments["training"] = f"{base}{{ {listed(': ', training)} }}"
        elif base:
            arguments["training"] = base.rpartition(" + ")[0]
        if parts["energies"]:
            arguments["energies"] = f"{self._name}.energies({listed('=', parts['energies'])})"
        return call(f"{self._name}.experiment", arguments)

    def config(self, dataset: str, method: str, settings: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """The config with the settings, JSON values, that the method reads; `tuned` may be one."""
        more = tuple((name, json.dumps(value)) for name, value in (settings or {}).items())
        used = self.read(dataset, method, more)
        given = {name: value for name, value in more if name in used}
        called = self.call(dataset, method, given, is_tuned(dict(more)))
        return library_value(self._file, f"local {self._name} = lib; {called}")

    def _names_read(self, dataset: str, method: str, more: tuple[tuple[str, str], ...]) -> list[str]:
        """The names of the settings `more` that the method reads."""
        rest = {name: value for name, value in more if name != "tuned"}
        if not rest:
            return []  # Spares the evaluation of the library.
        tuned = f", {json.dumps(is_tuned(dict(more)))}" if self._name == "multilabel" else ""
        # A value may name the library, as in the config.
        used = f"{self._name}.used({text(dataset)}, {text(method)}, {{ {listed(': ', rest)} }}{tuned})"
        try:
            return library_value(self._file, f"local {self._name} = lib; std.objectFields({used})")
        except RuntimeError as error:
            raise not_evaluated(error) from error


def is_tuned(settings: dict[str, str]) -> bool:
    """
    Whether the settings, jsonnet values, select our tuned settings. Raises `UserError` if `tuned` is neither true nor
    false.
    """
    tuned = settings.get("tuned", "false")
    if tuned not in ("true", "false"):
        raise UserError(f"--settings: 'tuned' must be true or false, found {tuned}.")
    return tuned == "true"
