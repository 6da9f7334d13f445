"""The tree of constituents of a sentence."""

from seal.tasks.parsing.bracket_score import BracketScore, bracket_counts
from seal.tasks.parsing.model import ParsingModel
from seal.tasks.parsing.predictor import ParsingPredictor
from seal.tasks.parsing.reader import ParsingReader
