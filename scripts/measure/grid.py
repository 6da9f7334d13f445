"""What suites need of a jsonnet library with `dataset(name)`, `method(name)` and `settings(dataset, method)`."""

from functools import lru_cache
from typing import Any, Dict, List, Optional

from scripts.measure.configs import library_value, listed, text
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
        chosen = {"epochs": str(settings.epochs), "seed": str(settings.seed), **dict(settings.more)}
        inside = listed(": ", chosen)
        return (
            f"local {self._name} = import {text(f'{settings.library}/{self._file}')};\n\n"
            f"{self._name}.experiment('{dataset}', '{method}', settings={{ {inside} }})\n"
        )
