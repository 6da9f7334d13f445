"""
Scores a trained SRL run: the metrics of a split, and the counts of each frame, for tests of significance.
"""

import importlib
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pandas

from scripts.measure.suite import Scores

KEY = ("source", "predicate", "nth")
"""
A frame by the file and line of its sentence, its predicate's index, and its number among that word's frames.
"""


def score(
    folder: Path, splits: Dict[str, str], packages: Tuple[str, ...] = ("seal",)
) -> Tuple[Dict[str, Scores], Dict[str, float]]:
    """
    The best model of a run on each split. A model is one of ours, or one whose readable `tags` are BIO tags
    of words and whose instances' metadata have `predicate`, `tags`, `words` and `source`.
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
    scores = {split: score_split(model, reader, loader, path) for split, path in splits.items()}
    return scores, {"parameters": sum(parameter.numel() for parameter in model.parameters())}


def score_split(model: Any, reader: Any, loader_settings: Dict[str, Any], path: str) -> Scores:
    import torch
    from allennlp.common import Params
    from allennlp.data import DataLoader
    from seal.metrics.srl_score import frame_counts

    settings = Params(deepcopy({"quiet": True, **loader_settings}))  # A copy: what is read of it is gone.
    loader = DataLoader.from_params(settings, reader=reader, data_path=path)
    loader.index_with(model.vocab)
    loader.set_target_device(next(model.parameters()).device)
    rows: List[Dict[str, Any]] = []
    seen: Counter = Counter()
    with torch.no_grad():
        for batch in loader:
            tags = model.make_output_human_readable(model(**batch))["tags"]
            for predicted, meta in zip(tags, batch["metadata"]):
                if meta["predicate"] is None:
                    continue
                counts = frame_counts(predicted[: len(meta["words"])], meta["tags"])
                frame = (meta["source"], meta["predicate"])
                rows.append(
                    {
                        "source": meta["source"],
                        "predicate": meta["predicate"],
                        "nth": seen[frame],
                        **{
                            name: sum(getattr(counts, name).values())
                            for name in ("correct", "predicted", "gold")
                        },
                        "duplicate": int(counts.duplicates > 0),
                        "frame": 1,
                    }
                )
                seen[frame] += 1
    metrics = {name: float(value) for name, value in model.get_metrics(reset=True).items() if name != "loss"}
    examples = pandas.DataFrame(rows).sort_values(list(KEY), kind="stable", ignore_index=True)
    return Scores(metrics, examples)
