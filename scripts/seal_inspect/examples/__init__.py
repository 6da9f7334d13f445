"""
What a trained model says about data with gold: its mistakes, how far its probabilities can be trusted, and examples.
"""

import itertools

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import Archive

from seal.models import MultilabelModel, ParsingModel, SegmentationModel, SrlModel, TaggingModel
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
    What a model of this package says of data with gold, as its validation reader takes them: of the first `most`
    instances.
    """
    model, reader = archive.model.eval(), archive.validation_dataset_reader
    make = next((make for kind, make in _EXAMINERS if isinstance(model, kind)), None)
    if make is None:
        raise ConfigurationError(f"examples are for models of this package, not {type(model).__name__}.")
    examiner = make(model)
    instances = itertools.islice(reader.read(path), most)
    while chunk := list(itertools.islice(instances, _AT_ONCE)):
        with torch.no_grad():
            examiner.add(chunk, tensors_of(model, reader, chunk))
    examiner.finish()
    return examiner.found
