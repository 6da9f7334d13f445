"""
The base classes of the tasks: readers, the model with task-net and loss-net, metrics, and the pipeline from raw input
to records.

Every function that reads a file reports a mistake in it, or a missing or damaged file, by a `ConfigurationError` of one
sentence that starts with `file:line`. The docstrings do not repeat this.
"""

from seal.tasks.base.batches import BatchesByLength, BatchesBySize, BatchesOfFrames, PartlyLabelledBatches
from seal.tasks.base.characters import CharactersIndexer
from seal.tasks.base.continued_model import ContinuedModel
from seal.tasks.base.metric_names import OTHER_OUTPUTS, metrics_of_prediction
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
