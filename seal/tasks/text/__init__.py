"""Multi-label text classification: predicts the set of labels of a text."""

from seal.tasks.text.model import TextMultilabelModel
from seal.tasks.text.predictor import TextMultilabelPredictor
from seal.tasks.text.reader import TextMultilabelReader
