"""An epoch of training by our SRL cross-entropy and by allennlp-models' `srl_bert`, each by its own config."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from allennlp.common import Params
from allennlp.data import DataLoader, DatasetReader, Vocabulary

import seal.plugin  # noqa: F401  configs name what it registers
from scripts.measure import srl_bert_baseline  # noqa: F401
from scripts.measure.bench_base import build_model, build_trainer
from scripts.measure.bench_timing import epoch_of
from scripts.measure.configs import evaluated
from scripts.measure.suite import Settings
from scripts.measure.suites.srl import experiment, srl_bert

BASELINE = "srl_bert"


class Epoch(NamedTuple):
    #: The epoch: batches are formed of instances that are in memory, padded, and trained on.
    run: Callable[[], None]
    #: The instances that it trains on, and what they take of the encoder's pieces, padding included.
    rows: int
    places: int


def epochs(path: str, encoder: str, fraction: float, vocab: Vocabulary) -> dict[str, Epoch]:
    """By name, an epoch over the same part of the sentences of a file."""
    # With a fraction here, the config would look for its tags in the data set's files, which another path may replace.
    settings = Settings(seed=0, epochs=1, fraction=1.0, encoder=encoder)
    written = {"cross_entropy": experiment("ewt", "cross_entropy", settings), BASELINE: srl_bert(settings)}
    configs = {name: evaluated(config) for name, config in written.items()}
    for config in configs.values():
        config["dataset_reader"]["fraction"] = fraction
    return {name: _epoch(config, path, vocab) for name, config in configs.items()}


def _epoch(config: dict[str, Any], path: str, vocab: Vocabulary) -> Epoch:
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    loader = DataLoader.from_params(Params(config["data_loader"]), reader=reader, data_path=path)
    loader.index_with(vocab)
    pieces = [next(iter(batch["tokens"].values()))["token_ids"] for batch in loader]
    rows, places = sum(map(len, pieces)), sum(map(torch.numel, pieces))
    model = build_model(config["model"], vocab)
    return Epoch(epoch_of(build_trainer(config["trainer"], model, loader)), rows, places)
