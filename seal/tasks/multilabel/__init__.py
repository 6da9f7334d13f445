"""The set of labels of a vector of features."""

from seal.tasks.multilabel.label_set_score import LabelSetScore, MultilabelScore, example_f1
from seal.tasks.multilabel.model import MultilabelModel
from seal.tasks.multilabel.predictor import LabelSetPredictor, MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
