"""
`StructuredClassifier` reranks label sets (`seal.structure`) for any classifier with scikit-learn's interface. The
dependencies are torch and scikit-learn.
"""

from seal.sklearn.label_scorers import log_odds
from seal.sklearn.structured_classifier import SCORES, StructuredClassifier

__all__ = ["SCORES", "StructuredClassifier", "log_odds"]
