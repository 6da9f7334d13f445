"""
A run's best model, and the data that it is scored on.
"""

import importlib
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from scripts.measure.suite import Scores


class TrainedRun:
    """
    # Parameters

    folder : `Path`
        Of the run, as `allennlp train` left it.
    packages : `tuple[str, ...]`
        Packages to import before the model is loaded.
    """

    def __init__(self, folder: Path, packages: tuple[str, ...] = ("seal",)) -> None:
        # Imported here, since they take seconds, which `--help` and a finished run need not wait for.
        for package in packages:
            importlib.import_module(package)
        import torch
        from allennlp.models import load_archive

        archive = load_archive(str(folder), cuda_device=0 if torch.cuda.is_available() else -1)
        self.model, self._reader = archive.model.eval(), archive.validation_dataset_reader
        self.settings: dict[str, Any] = archive.config.as_dict(quiet=True)
        loader = self.settings.get("validation_data_loader") or self.settings["data_loader"]
        # A config may give a type's name alone.
        self._loader: dict[str, Any] = {"type": loader} if isinstance(loader, str) else loader
        # Inference may start at random: with this seed, from the same starts whenever the run is scored.
        torch.manual_seed(0)

    def pass_over(
        self, path: str, see: Callable[[dict[str, Any], dict[str, Any]], Iterable[dict[str, Any]]]
    ) -> tuple[list[dict[str, Any]], dict[str, float], float]:
        """
        Predicts the data, batch by batch.

        # Parameters

        path : `str`
            The path of the data.
        see : maps a batch and the model's output for it to what is to be kept of them.

        # Returns

        What `see` kept of all batches, the metrics, and the seconds of predicting and scoring, without those of reading
        the file.
        """
        import torch
        from allennlp.common import Params
        from allennlp.data import DataLoader

        # A copy, since `from_params` empties what it is given. All loaders have the option `quiet` except that of
        # tensors, which is always quiet.
        quiet = {} if self._loader.get("type") == "tensors" else {"quiet": True}
        settings = Params(deepcopy({**quiet, **self._loader}))
        loader = DataLoader.from_params(settings, reader=self._reader, data_path=path)
        loader.index_with(self.model.vocab)
        loader.set_target_device(next(self.model.parameters()).device)
        seen: list[dict[str, Any]] = []
        start = time.perf_counter()
        with torch.no_grad():
            for batch in loader:
                seen.extend(see(batch, self.model(**batch)))
        metrics = {name: float(value) for name, value in self.model.get_metrics(reset=True).items() if name != "loss"}
        return seen, metrics, time.perf_counter() - start

    def facts(self) -> dict[str, float]:
        """How many parameters were trained, and how many predict."""
        # A baseline of another package predicts with all its parameters.
        predicting = getattr(self.model, "prediction_parameters", self.model.parameters)()
        return {"parameters": _size(self.model.parameters()), "prediction_parameters": _size(predicting)}


def score_splits(
    score_split: Callable[[TrainedRun, str], tuple[Scores, float]],
    folder: Path,
    splits: dict[str, str],
    packages: tuple[str, ...] = ("seal",),
) -> tuple[dict[str, Scores], dict[str, float]]:
    """
    Scores a run's best model on each split.

    # Parameters

    score_split : maps a run and the path of data to the scores, and to the seconds of predicting and scoring.
    folder, packages : as for `TrainedRun`.
    splits : `dict[str, str]`
        Paths by name.

    # Returns

    The scores of each split, and facts of the run: its numbers of parameters, and the examples that it predicts and
    scores a second.
    """
    run = TrainedRun(folder, packages)
    scores, examples, seconds = {}, 0, 0.0
    for split, path in splits.items():
        scores[split], elapsed = score_split(run, path)
        examples, seconds = examples + len(scores[split].examples), seconds + elapsed
    return scores, {**run.facts(), "examples_per_second": examples / seconds}


def _size(parameters: Any) -> int:
    return sum(parameter.numel() for parameter in parameters)
