"""Raw text or JSON in, one line of readable JSON out: the predictors of `predict`, one for each task."""

from seal.predictors.line_predictor import LinePredictor, PredictorOfTheModel, SentencePredictor
from seal.predictors.multilabel import LabelSetPredictor, MultilabelPredictor
from seal.predictors.parsing import ParsingPredictor
from seal.predictors.pipeline import InputError, Pipeline
from seal.predictors.records import Record
from seal.predictors.segmentation import SegmentationPredictor
from seal.predictors.srl import SrlPredictor
from seal.predictors.tagging import TaggingPredictor
from seal.predictors.text_multilabel import TextMultilabelPredictor
