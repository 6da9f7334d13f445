"""Batches, models and trainers of the tagging benchmark, the same for every case."""

from typing import Any

import numpy
import torch
from allennlp.data import TensorDict, Vocabulary
from allennlp.models import Model
from allennlp.training import Trainer

from scripts.measure import bench_base
from scripts.measure.configs import library_value
from scripts.measure.suites.tagging import METHODS as GROUPS
from scripts.measure.suites.tagging import WITH_ENERGY

BASELINE = "cross_entropy"
# After a method's name: with `trainer.reuse_features`.
REUSED = "_reused"
# A step of `structured` is one of the method that its structure is on.
METHODS: list[str] = [
    name for members in GROUPS.values() for name in members if name not in WITH_ENERGY and name != "structured"
] + [f"{name}{REUSED}" for name in ("compound_shared", "compound_stacked", "nce")]
# The sizes of Twitter's parts of speech; its 1176 words are those that occur at least twice. The data are random: the
# time of a step does not depend on what they mean.
TAGS, WORDS = 25, 1176
SHORTEST, LONGEST = 8, 22
LINEAR_CHAIN = "linear chain"
ENERGIES = {
    LINEAR_CHAIN: "tagging.energies()",
    "GE(a)": WITH_ENERGY["ge_a"][1],
    "GE(b)": WITH_ENERGY["ge_b"][1],
    "GE(c)": WITH_ENERGY["ge_c"][1],
}


def vocabulary() -> Vocabulary:
    names = {"tokens": [f"w{i}" for i in range(WORDS)], "tags": [f"t{i}" for i in range(TAGS)]}
    return Vocabulary(tokens_to_add=names, non_padded_namespaces=["tags"])


def random_batches(count: int, size: int) -> list[TensorDict]:
    """Batches of sentences of similar length, as the `bucket` sampler makes them, drawn with a fixed seed."""
    generator = numpy.random.default_rng(0)
    batches = []
    for longest in numpy.linspace(SHORTEST, LONGEST, count + 2).round().astype(int)[1:-1]:
        lengths = generator.integers(longest - 1, longest, size=size, endpoint=True)
        mask = torch.arange(int(lengths.max())) < torch.from_numpy(lengths).unsqueeze(1)
        # 0 and 1 are padding and unknown words.
        words = torch.from_numpy(generator.integers(2, WORDS + 2, size=mask.shape)) * mask
        tags = torch.from_numpy(generator.integers(0, TAGS, size=mask.shape)) * mask
        gold = [[f"t{tag}" for tag in row[:length]] for row, length in zip(tags.tolist(), lengths)]
        metadata = [{"words": None, "tags": row, "source": None} for row in gold]
        batches.append({"tokens": {"tokens": {"tokens": words}}, "tags": tags, "metadata": metadata})
    return batches


def experiment(method: str, energies: str = LINEAR_CHAIN) -> dict[str, Any]:
    """The config of `training_configs/lib`, with learning rates of 0, so that updates change nothing."""
    source = f"""
        local tagging = lib;
        tagging.experiment(
          data=tagging.data.twitter_pos, encoder=tagging.encoder.bilstm(characters=0),
          method=tagging.method.{method.removesuffix(REUSED)}(),
          training=tagging.training.twitter_pos {{ epochs: 1, task_net_lr: 0, loss_net_lr: 0 }},
          energies={ENERGIES[energies]},
        )"""
    config = library_value("tagging.libsonnet", source)
    config["trainer"]["reuse_features"] = method.endswith(REUSED)
    return config


def build_model(config: dict[str, Any]) -> Model:
    return bench_base.build_model(config["model"], vocabulary())


def build_trainer(method: str, batches: list[TensorDict], energies: str = LINEAR_CHAIN) -> Trainer:
    """The trainer of the config over the batches in their order."""
    config = experiment(method, energies)
    model, loader = build_model(config), bench_base.Batches(batches)
    return bench_base.build_trainer(config["trainer"], model, loader)
