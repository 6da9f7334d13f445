"""
`StructuredClassifier`: what `seal.structure` does for label sets, on top of any classifier with scikit-learn's
interface. Needs torch and scikit-learn; AllenNLP is not used.
"""

from seal.sklearn.label_scorers import log_odds
from seal.sklearn.structured_classifier import SCORES, StructuredClassifier

__all__ = ["SCORES", "StructuredClassifier", "log_odds"]
