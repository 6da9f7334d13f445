"""A tag for each word: entities, parts of speech, the fields of a citation."""

from seal.tasks.tagging.model import TaggingModel, TagModel
from seal.tasks.tagging.partly_labelled_model import PartlyLabelledTaggingModel
from seal.tasks.tagging.predictor import TaggingPredictor
from seal.tasks.tagging.reader import TaggingReader
from seal.tasks.tagging.tagging_score import TaggingScore
