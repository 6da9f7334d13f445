"""
A run's best model, and the data that it is scored on.
"""

import importlib
import time
from copy import deepcopy
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Tuple

from scripts.measure.suite import Scores


class TrainedRun:
    """
    # Parameters

    folder : `Path`
        Of the run, as `allennlp train` left it.
    packages : `Tuple[str, ...]`
        To import before.
    """

    def __init__(self, folder: Path, packages: Tuple[str, ...] = ("seal",)) -> None:
        # Here, not above: they take seconds to import, which `--help` and a finished run need not wait for.
        for package in packages:
            importlib.import_module(package)
        import torch
        from allennlp.models import load_archive

        archive = load_archive(str(folder), cuda_device=0 if torch.cuda.is_available() else -1)
        self.model, self._reader = archive.model.eval(), archive.validation_dataset_reader
        self.settings: Dict[str, Any] = archive.config.as_dict(quiet=True)
        self._loader = self.settings.get("validation_data_loader") or self.settings["data_loader"]
        # Inference may start at random: the same starts whenever a run is scored.
        torch.manual_seed(0)

    def pass_over(
        self, path: str, see: Callable[[Dict[str, Any], Dict[str, Any]], Iterable[Dict[str, Any]]]
    ) -> Tuple[List[Dict[str, Any]], Dict[str, float], float]:
        """
        # Parameters

        path : `str`
            Of the data.
        see : a batch and what the model makes of it to anything, a list a batch.

        # Returns

        What was seen of all batches, the metrics, and the seconds of predicting and scoring without those of reading
        the file.
        """
        import torch
        from allennlp.common import Params
        from allennlp.data import DataLoader

        # A copy: what is read of it is gone. Every loader may be quiet but that of tensors, which always is.
        quiet = {} if self._loader.get("type") == "tensors" else {"quiet": True}
        settings = Params(deepcopy({**quiet, **self._loader}))
        loader = DataLoader.from_params(settings, reader=self._reader, data_path=path)
        loader.index_with(self.model.vocab)
        loader.set_target_device(next(self.model.parameters()).device)
        seen: List[Dict[str, Any]] = []
        start = time.perf_counter()
        with torch.no_grad():
            for batch in loader:
                seen.extend(see(batch, self.model(**batch)))
        metrics = {
            name: float(value) for name, value in self.model.get_metrics(reset=True).items() if name != "loss"
        }
        return seen, metrics, time.perf_counter() - start

    def facts(self) -> Dict[str, float]:
        """How many parameters were trained, and how many predict."""
        # A baseline of another package predicts with all that it has.
        predicting = getattr(self.model, "prediction_parameters", self.model.parameters)()
        return {"parameters": _size(self.model.parameters()), "prediction_parameters": _size(predicting)}


def score_splits(
    score_split: Callable[[TrainedRun, str], Tuple[Scores, float]],
    folder: Path,
    splits: Dict[str, str],
    packages: Tuple[str, ...] = ("seal",),
) -> Tuple[Dict[str, Scores], Dict[str, float]]:
    """
    # Parameters

    score_split : a run and the path of its data to their scores, and the seconds of predicting and scoring.
    folder, packages : as for `TrainedRun`.
    splits : `Dict[str, str]`
        Paths by name.

    # Returns

    The scores of each split, and what there is to say of the run itself.
    """
    run = TrainedRun(folder, packages)
    scores, examples, seconds = {}, 0, 0.0
    for split, path in splits.items():
        scores[split], elapsed = score_split(run, path)
        examples, seconds = examples + len(scores[split].examples), seconds + elapsed
    return scores, {**run.facts(), "examples_per_second": examples / seconds}


def _size(parameters: Any) -> int:
    return sum(parameter.numel() for parameter in parameters)
