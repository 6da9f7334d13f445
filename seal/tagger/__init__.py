"""
Reranking of the k-best list of any tagger: `StructuredTagger` reads a tagger's emissions, and `cross_fit` computes
held-out emissions. The dependencies are torch and NumPy; `seal.tagger.token_classification`, which computes emissions
of Hugging Face models, needs transformers.
"""

from seal.tagger.cross_fitting import cross_fit
from seal.tagger.data import log_probabilities
from seal.tagger.explanations import Candidate, Explanation
from seal.tagger.structured_tagger import StructuredTagger
