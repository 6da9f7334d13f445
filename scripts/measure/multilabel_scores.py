"""
Scores a trained multi-label run: the metrics of a split, and the F1 of each row, for tests of significance.
"""

import importlib
import time
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, Tuple

import pandas

from scripts.measure.suite import Scores

KEY = ("row",)
"""A row by its number in the split, from 0: files are read in their order."""


def score(
    folder: Path, splits: Dict[str, str], packages: Tuple[str, ...] = ("seal",)
) -> Tuple[Dict[str, Scores], Dict[str, float]]:
    """
    The best model of a run, in one pass over each split: at 0.5, and at the thresholds that its training
    tuned on the validation data, which are part of the weights.
    """
    # Here, not above: they take seconds to import, which `--help` and a finished run need not wait for.
    for package in packages:
        importlib.import_module(package)
    import torch
    from allennlp.models import load_archive

    archive = load_archive(str(folder), cuda_device=0 if torch.cuda.is_available() else -1)
    model, reader = archive.model.eval(), archive.validation_dataset_reader
    settings = archive.config.as_dict(quiet=True)
    loader = settings.get("validation_data_loader") or settings["data_loader"]
    empty_f1 = settings["model"].get("empty_f1", 1.0)
    # Inference may start at random: the same starts whenever a run is scored.
    torch.manual_seed(0)
    scores, rows, seconds = {}, 0, 0.0
    for split, path in splits.items():
        scores[split], elapsed = score_split(model, reader, loader, path, empty_f1)
        rows, seconds = rows + len(scores[split].examples), seconds + elapsed
    # What predicts is one of the two nets alone.
    predicting = model.task_net_parameters() if model.inference is None else model.loss_net_parameters()
    facts = {
        "parameters": _size(model.parameters()),
        "prediction_parameters": _size(predicting),
        "examples_per_second": rows / seconds,
    }
    return scores, facts


def score_split(
    model: Any, reader: Any, loader_settings: Dict[str, Any], path: str, empty_f1: float = 1.0
) -> Tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring, reading the file left out."""
    import torch
    from allennlp.common import Params
    from allennlp.data import DataLoader

    settings = Params(deepcopy(loader_settings))  # A copy: what is read of it is gone.
    loader = DataLoader.from_params(settings, reader=reader, data_path=path)
    loader.index_with(model.vocab)
    loader.set_target_device(next(model.parameters()).device)
    parts = []
    start = time.perf_counter()
    with torch.no_grad():
        for batch in loader:
            probabilities, gold = model(**batch)["probabilities"], batch["labels"].bool()
            columns = {"f1": 0.5, "f1_tuned": model.tuned_threshold}
            parts.append(
                {
                    name: example_f1(probabilities >= threshold, gold, empty_f1).cpu()
                    for name, threshold in columns.items()
                }
            )
    metrics = {name: float(value) for name, value in model.get_metrics(reset=True).items() if name != "loss"}
    seconds = time.perf_counter() - start
    columns = {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}
    examples = pandas.DataFrame({"row": range(len(columns["f1"])), **columns, "rows": 1})
    return Scores(metrics, examples), seconds


def example_f1(predicted: Any, gold: Any, empty_f1: float) -> Any:
    """`(rows,)`, 0 to 1: `2 correct / (predicted + gold)`, and `empty_f1` where there is neither."""
    sizes = (predicted.sum(dim=1) + gold.sum(dim=1)).double()
    f1 = 2 * (predicted & gold).sum(dim=1) / sizes.clamp(min=1)
    return f1.masked_fill(sizes == 0, empty_f1)


def _size(parameters: Any) -> int:
    return sum(parameter.numel() for parameter in parameters)
