"""What suites need of a jsonnet library with `dataset(name)`, `method(name)` and `settings(dataset, method)`."""

from functools import lru_cache
from typing import Any, Dict, List, Optional, Tuple

from scripts.measure.configs import library_value, listed, not_evaluated, text
from scripts.measure.idle_settings import MAY_BE_IDLE
from scripts.measure.suite import Settings


class Grid:
    """
    # Parameters

    name : `str`
        The library is `training_configs/lib/NAME.libsonnet`.
    """

    def __init__(self, name: str) -> None:
        self._name, self._file = name, f"{name}.libsonnet"
        self.library = lru_cache(maxsize=None)(self._library)
        self.setting_names = lru_cache(maxsize=None)(self._setting_names)
        self._used = lru_cache(maxsize=None)(self._used_names)

    def _library(self) -> Dict[str, Any]:
        """The paths and the number of epochs of each data set, in one evaluation of jsonnet."""
        return library_value(
            self._file,
            "{ [name]: { paths: { train: lib.dataset(name).train, valid: lib.dataset(name).valid, "
            "test: std.get(lib.dataset(name), 'test') }, epochs: lib.settings(name, 'cross_entropy').epochs } "
            "for name in lib.datasets }",
        )

    def data(self, name: str) -> Dict[str, Optional[str]]:
        # Evaluated jsonnet has its names in alphabetical order; tables follow this one.
        return {split: self.library()[name]["paths"][split] for split in ("train", "valid", "test")}

    def _setting_names(self, dataset: str, method: str) -> List[str]:
        """What `--settings` may set: the seed and the epochs have options of their own."""
        names = library_value(self._file, f"std.objectFields(lib.settings('{dataset}', '{method}'))")
        return [name for name in names if name not in ("seed", "epochs")]

    def experiment(self, dataset: str, method: str, settings: Settings) -> str:
        """
        The config's text. It has none of the settings that the method does not read, which the library refuses: several
        methods may be given the same.

        # Raises

        `UserError` if the library cannot be evaluated with the settings.
        """
        used = self._used(dataset, method, settings.more)
        more = {name: value for name, value in settings.more if name in used}
        inside = listed(": ", {"epochs": str(settings.epochs), "seed": str(settings.seed), **more})
        return (
            f"local {self._name} = import {text(f'{settings.library}/{self._file}')};\n\n"
            f"{self._name}.experiment('{dataset}', '{method}', settings={{ {inside} }})\n"
        )

    def _used_names(self, dataset: str, method: str, more: Tuple[Tuple[str, str], ...]) -> List[str]:
        """The names of the settings `more` that the method reads."""
        if all(name in MAY_BE_IDLE for name, _ in more):
            return list(dict(more))  # Spares the evaluation of the library.
        # A value may name the library, as in the config.
        used = f"{self._name}.used('{dataset}', '{method}', {{ {listed(': ', dict(more))} }})"
        try:
            return library_value(self._file, f"local {self._name} = lib; std.objectFields({used})")
        except RuntimeError as error:
            raise not_evaluated(error) from error
