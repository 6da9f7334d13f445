"""
What tasks share: readers of sentences and of tensors, the model with both nets, sums over batches, and the one way from
raw input to a record.

A mistake in a file, or a file that is missing or damaged, is reported by a `ConfigurationError` of one sentence that
starts with `file:line`; functions that read files say so no more.
"""

from seal.tasks.base.batches import BatchesByLength, BatchesBySize, BatchesOfFrames, PartlyLabelledBatches
from seal.tasks.base.characters import CharactersIndexer
from seal.tasks.base.continued_model import ContinuedModel
from seal.tasks.base.metric_names import OTHER_OUTPUTS, of_prediction
from seal.tasks.base.pipeline import InputError, Pipeline
from seal.tasks.base.predictor import LinePredictor, PredictorOfTheModel
from seal.tasks.base.records import Record
from seal.tasks.base.running_means import RunningMeans, SummedScore
from seal.tasks.base.seal_model import SealModel
from seal.tasks.base.sentence_pieces import SentencePiecesIndexer
from seal.tasks.base.sentence_predictor import SentencePredictor
from seal.tasks.base.sentence_reader import SentenceReader
from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.base.unknown_gold import UnknownGold
