"""
The answers of models on the page of `demo`: the prediction, the other candidates, and their scores.
"""

from typing import Optional

from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import Archive

from seal.tasks.multilabel import MultilabelModel
from seal.tasks.parsing import ParsingModel
from seal.tasks.segmentation import SegmentationModel
from seal.tasks.srl import SrlModel
from seal.tasks.tagging import TaggingModel
from seal.tasks.text import TextMultilabelModel
from seal_inspect.demo_answers.answers import LINES, WORDS, Answers
from seal_inspect.demo_answers.labels import FeatureAnswers, LabelAnswers
from seal_inspect.demo_answers.parsing import TreeAnswers
from seal_inspect.demo_answers.segmentation import MaskAnswers
from seal_inspect.demo_answers.tagging import FrameAnswers, TagAnswers

_KINDS = (
    (SrlModel, FrameAnswers),
    (TaggingModel, TagAnswers),
    (ParsingModel, TreeAnswers),
    (TextMultilabelModel, LabelAnswers),
    (MultilabelModel, FeatureAnswers),
    (SegmentationModel, MaskAnswers),
)


def answers_of(name: str, archive: Archive, predicates_from: Optional[str] = None) -> Answers:
    """
    Makes the answers of a model of this package. `predicates_from` is an argument of the predictor of roles; with a
    model of another task it raises a `ConfigurationError`.
    """
    if predicates_from is not None:
        if not isinstance(archive.model, SrlModel):
            raise ConfigurationError(f"--predicates-from is for models of roles, and {name} is none; leave it out.")
        return FrameAnswers(name, archive, predicates_from=predicates_from)
    for kind, make in _KINDS:
        if isinstance(archive.model, kind):
            return make(name, archive)
    raise ConfigurationError(f"{name}: the page is for models of this package, not {type(archive.model).__name__}.")
