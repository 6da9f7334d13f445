"""Data, batches, models and trainers of the multi-label benchmark, the same for every case."""

import copy
from pathlib import Path
from typing import Any, NamedTuple, Optional

from allennlp.common import Params
from allennlp.data import DatasetReader, TensorDict, Vocabulary
from allennlp.models import Model
from allennlp.training import Trainer

from scripts.measure import bench_base
from scripts.measure.configs import library_value
from scripts.measure.grid import Grid
from scripts.measure.suite import ROOT
from seal.common.vocabularies import ATTRIBUTES, LABELS
from seal.tasks.base.tensor_loader import TensorLoader

BATCH_SIZE = 32
BASELINE = "cross_entropy"


class Variant(NamedTuple):
    """A method of the library, measured with other settings, or with other keys of the trainer's config."""

    method: str
    settings: dict[str, Any] = {}
    trainer: dict[str, Any] = {}


REUSE = {"reuse_features": True}
VARIANTS = {
    "nce_100": Variant("nce", settings={"num_samples": 100}),
    "regression_reused": Variant("regression", trainer=REUSE),
    "nce_reused": Variant("nce", trainer=REUSE),
    "nce_100_reused": Variant("nce", settings={"num_samples": 100}, trainer=REUSE),
}
# A step of these is one of the method that they are on.
NAMES = library_value("multilabel.libsonnet", "std.objectFields(lib.method_for.sample)")
_MORE_THAN_STEPS = ("structured", "self_training", "distilled")
METHODS: list[str] = [BASELINE, *(name for name in NAMES if name not in (BASELINE, *_MORE_THAN_STEPS)), *VARIANTS]
# One step a batch, so that methods are compared by the cost of a single step.
ONE_STEP = {"task_net_steps": 1, "loss_net_steps": 1}
# The net that trains in the last phase of methods whose earlier phases train another one. Steps of the last phase are
# timed.
LAST_PHASE = {
    "spen": "loss_net",
    "nce_energy": "loss_net",
    "static_margin": "task_net",
    "static_regression": "task_net",
    "static_nce": "task_net",
}


def experiment(dataset: str, method: str, settings: Optional[dict[str, Any]] = None) -> dict[str, Any]:
    """The config of `training_configs/lib`; data paths from the repository."""
    variant = VARIANTS.get(method, Variant(method))
    changes = {**variant.settings, **(settings or {})}
    config = Grid("multilabel").config(dataset, variant.method, changes)
    config["trainer"].update(variant.trainer)
    reader = config["dataset_reader"]
    for holder, key in ((reader, "label_xml"), (reader, "statistics_from"), (config, "train_data_path")):
        if holder.get(key):
            holder[key] = str(ROOT / holder[key])
    return config


def is_present(dataset: str) -> bool:
    return Path(experiment(dataset, BASELINE)["train_data_path"]).is_file()


def read_split(dataset: str, batch_size: int = BATCH_SIZE) -> TensorLoader:
    """The training rows, in their order."""
    config = experiment(dataset, BASELINE)
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    return TensorLoader(reader, config["train_data_path"], batch_size=batch_size)


def vocabulary(features: int, labels: int) -> Vocabulary:
    """A vocabulary of made-up names, one for each column; a single split keeps its columns in the file's order."""
    names = {ATTRIBUTES: [f"a{i}" for i in range(features)], LABELS: [f"l{i}" for i in range(labels)]}
    return Vocabulary(tokens_to_add=names)


def build_model(config: dict[str, Any], batch: TensorDict) -> Model:
    vocab = vocabulary(batch["features"].shape[1], batch["labels"].shape[1])
    return bench_base.build_model(config["model"], vocab)


def build_trainer(
    dataset: str,
    method: str,
    batches: list[TensorDict],
    trainer_changes: Optional[dict[str, Any]] = None,
    **settings: Any,
) -> Trainer:
    """
    The config's trainer over the batches in their order, in the last phase of the method. With learning rates of 0
    updates take their usual time and change nothing. `trainer_changes` are set in the trainer's config; `None` removes
    a key.
    """
    config = experiment(dataset, method, settings)
    trainer = {**config["trainer"], **copy.deepcopy(trainer_changes or {})}
    trainer = {key: value for key, value in trainer.items() if value is not None}
    if method in LAST_PHASE:
        trainer["phases"] = [{"train": LAST_PHASE[method]}]
    model, loader = build_model(config, batches[0]), bench_base.Batches(batches)
    if LAST_PHASE.get(method) == "task_net":
        # Makes the loss-net count as trained: its weights do not change the time of a step.
        model.loss_net.pretrained_file = "none"
    return bench_base.build_trainer(trainer, model, loader)
