"""
Examines a trained model on data with gold: mistakes, calibration of probabilities, and examples.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.models.archival import Archive

from seal.tasks.multilabel import MultilabelModel
from seal.tasks.parsing import ParsingModel
from seal.tasks.segmentation import SegmentationModel
from seal.tasks.srl import SrlModel
from seal.tasks.tagging import TaggingModel
from seal_inspect.archives import tensors_of
from seal_inspect.examples.multilabel import LabelExaminer
from seal_inspect.examples.parsing import TreeExaminer
from seal_inspect.examples.segmentation import MaskExaminer
from seal_inspect.examples.tagging import TagExaminer
from seal_inspect.findings import Findings

_AT_ONCE = 32
_EXAMINERS = (
    (SrlModel, TagExaminer),
    (TaggingModel, TagExaminer),
    (ParsingModel, TreeExaminer),
    (MultilabelModel, LabelExaminer),
    (SegmentationModel, MaskExaminer),
)


def examine(archive: Archive, path: str, most: int) -> Findings:
    """
    Examines a model of this package on data with gold, in the format of its validation reader. If there are more than
    `most` instances, it takes a random sample of that size, the same one each time.
    """
    model, reader = archive.model.eval(), archive.validation_dataset_reader
    make = next((make for kind, make in _EXAMINERS if isinstance(model, kind)), None)
    if make is None:
        raise ConfigurationError(f"examples are for models of this package, not {type(model).__name__}.")
    examiner = make(model)
    instances = _sample(partial(reader.read, path), most)
    while chunk := list(itertools.islice(instances, _AT_ONCE)):
        with torch.no_grad():
            examiner.add(chunk, tensors_of(model, reader, chunk))
    examiner.finish()
    return examiner.found


def _sample(read: Callable[[], Iterable[Instance]], most: int) -> Iterator[Instance]:
    """At most `most` instances, chosen at random, in the order of the data."""
    # The data are read twice, so that only a few instances are in memory.
    number = sum(1 for _ in read())
    chosen = set(random.Random(0).sample(range(number), min(most, number)))
    return (instance for place, instance in enumerate(read()) if place in chosen)
