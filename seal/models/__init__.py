"""AllenNLP models: `SealModel`, with both nets, and a class for each task that adds metrics and decoding."""

from seal.models.continued import ContinuedModel
from seal.models.multilabel import MultilabelModel, TextMultilabelModel
from seal.models.parsing import ParsingModel
from seal.models.partly_labelled_tagging import PartlyLabelledTaggingModel
from seal.models.seal_model import SealModel
from seal.models.segmentation import SegmentationModel
from seal.models.srl import SrlModel
from seal.models.tagging import TaggingModel, TagModel
from seal.two_player.objectives import TaskState
