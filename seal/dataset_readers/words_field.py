from typing import Any

from allennlp.data.fields import MetadataField

from seal.common.vocabularies import WRITTEN
from seal.common.written_forms import count_forms


class WordsField(MetadataField):
    """
    The metadata of a sentence, from whose `words` the vocabulary learns how its data write brackets, quotes and the
    like. Prediction brings raw text to these forms.
    """

    def __init__(self, metadata: dict[str, Any]) -> None:
        super().__init__(metadata)

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for form, count in count_forms(self.metadata["words"]).items():
            counter[WRITTEN][form] += count
