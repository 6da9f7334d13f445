"""
Structure on top of any tagger: `StructuredTagger` takes emissions of a tagger, and `cross_fit` makes them for folds.
Torch and NumPy are enough; `seal.tagger.token_classification`, which gets them of a transformer, needs transformers.
"""

from seal.tagger.cross_fitting import cross_fit
from seal.tagger.data import log_probabilities
from seal.tagger.explanations import Candidate, Explanation
from seal.tagger.structured_tagger import StructuredTagger
