"""
Files to instances: readers of words, texts, feature vectors and images, and the loaders that batch them.

A mistake in a file, or a file that is missing or damaged, is reported by a `ConfigurationError` of one sentence that
starts with `file:line`; functions here that read files say so no more.
"""

from seal.dataset_readers.batches import BatchesByLength, BatchesBySize, BatchesOfFrames, PartlyLabelledBatches
from seal.dataset_readers.characters import CharactersIndexer
from seal.dataset_readers.multilabel import MultilabelReader
from seal.dataset_readers.parsing import ParsingReader
from seal.dataset_readers.segmentation import SegmentationReader
from seal.dataset_readers.sentence_pieces import SentencePiecesIndexer
from seal.dataset_readers.sentences import SentenceReader
from seal.dataset_readers.srl import SrlReader
from seal.dataset_readers.tagging import TaggingReader
from seal.dataset_readers.tensor_loader import TensorLoader
from seal.dataset_readers.text_multilabel import TextMultilabelReader
