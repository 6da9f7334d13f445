"""Sequence labelling: predicts a tag for each word, such as entities, parts of speech or the fields of a citation."""

from seal.tasks.tagging.model import TaggingModel, TagModel
from seal.tasks.tagging.partly_labelled_model import PartlyLabelledTaggingModel
from seal.tasks.tagging.predictor import TaggingPredictor
from seal.tasks.tagging.reader import TaggingReader
from seal.tasks.tagging.tagging_score import TaggingScore
