"""Semantic role labelling: predicts the arguments of each predicate of a sentence."""

from seal.tasks.srl.model import SrlModel
from seal.tasks.srl.predictor import SrlPredictor
from seal.tasks.srl.reader import SrlReader
from seal.tasks.srl.srl_score import SrlScore
