"""Sentences, batches, models and trainers of the SRL benchmark, the same for every case."""

import random
from pathlib import Path
from typing import Any, Optional

from allennlp.common import Params
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.models import Model
from allennlp.training import Trainer

from scripts.measure import bench_base
from scripts.measure.configs import library_value, text
from scripts.measure.suite import ROOT
from seal.tasks.srl.data_files import SrlFrame, SrlSentence, read_srl_sentences

BATCH_SIZE = 16

METHODS = {
    "cross_entropy": "srl.method.cross_entropy()",
    "crf": "srl.method.crf()",
    "margin": "srl.method.margin()",
    "nce_20": "srl.method.nce(num_samples=20)",
    "nce_400": "srl.method.nce(num_samples=400)",
    "nce_20_shared": "srl.method.nce(num_samples=20, share_encoder=true)",
}


def read_data() -> tuple[str, list[SrlSentence], list[SrlSentence]]:
    """The name, training and dev sentences of the Web Treebank or, where that is missing, of the sample."""
    for name in ("ewt", "sample"):
        paths = library_value("srl.libsonnet", f"lib.data.{name}")
        paths = {split: str(ROOT / paths[split]) for split in ("train", "dev")}
        if all(Path(path).exists() for path in paths.values()):
            break
    return name, *(list(read_srl_sentences(paths[split])) for split in ("train", "dev"))


def label_vocabulary(sentences: list[SrlSentence]) -> Vocabulary:
    """The tags of all sentences, for our models and, in its namespace, for allennlp-models'."""
    tags = sorted({tag for sentence in sentences for frame in sentence.frames for tag in frame.tags} | {"O"})
    return Vocabulary(tokens_to_add={"srl_tags": tags, "labels": tags})


def draw_batches(
    sentences: list[SrlSentence], count: int, seed: int, size: int = BATCH_SIZE
) -> list[list[tuple[SrlSentence, Optional[SrlFrame]]]]:
    """
    At most `count` of the batches that an epoch with the `bucket` sampler has, which puts rows of similar length
    together. A row is a sentence with one of its frames or, once for each sentence, without one.
    """
    generator = random.Random(seed)
    rows = [(sentence, frame) for sentence in sentences for frame in [*sentence.frames, None]]
    generator.shuffle(rows)
    rows.sort(key=lambda row: len(row[0].words))
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    if len(batches) > 1 and len(batches[-1]) < size:
        batches.pop()  # Only steps on full batches are timed.
    return generator.sample(batches, min(count, len(batches)))


def as_instances(reader: DatasetReader, batches: list[list[tuple[SrlSentence, Optional[SrlFrame]]]]) -> list[Instance]:
    instances = []
    for sentence, frame in (row for batch in batches for row in batch):
        instance = reader.text_to_instance(
            words=sentence.words,
            predicate=None if frame is None else frame.predicate,
            tags=["O"] * len(sentence.words) if frame is None else frame.tags,
            predicates=sentence.predicates,
        )
        reader.apply_token_indexers(instance)
        instances.append(instance)
    return instances


def experiment(method: str, encoder: str, learning_rate: float) -> dict[str, Any]:
    """The config of `training_configs/lib`, with the given encoder."""
    rate = repr(float(learning_rate))
    source = f"""
        local srl = lib;
        srl.experiment(
          data=srl.data.ewt, encoder=srl.encoder.transformer({text(encoder)}), method={METHODS[method]},
          training=srl.training.default {{ task_net_lr: {rate}, loss_net_lr: {rate}, head_lr: null, scheduler: null }},
        )"""
    return library_value("srl.libsonnet", source)


def build_reader(encoder: str) -> DatasetReader:
    return DatasetReader.from_params(Params(experiment("cross_entropy", encoder, 0.0)["dataset_reader"]))


def build_model(method: str, encoder: str, vocab: Vocabulary, bfloat16_prediction: bool = False) -> Model:
    config = experiment(method, encoder, 0.0)["model"]
    if bfloat16_prediction:
        config["task_net"]["encoder"]["bfloat16_prediction"] = True
    return bench_base.build_model(config, vocab)


def build_trainer(method: str, model: Model, instances: list[Instance], encoder: str, learning_rate: float) -> Trainer:
    """
    The config's trainer over the instances in their order. With a learning rate of 0, updates take their usual time
    and change nothing.
    """
    loader = SimpleDataLoader(instances, BATCH_SIZE, vocab=model.vocab)
    return bench_base.build_trainer(experiment(method, encoder, learning_rate)["trainer"], model, loader)


def copy_task_net(source: Model, target: Model) -> None:
    """Copies the task-net into another model, whose other parts (a loss-net, a CRF's transitions) stay as they are."""
    target.task_net.load_state_dict(source.task_net.state_dict())
