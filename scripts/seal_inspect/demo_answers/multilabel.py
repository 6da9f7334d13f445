import json
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models.archival import Archive

from seal.common.vocabularies import ATTRIBUTES
from seal_inspect.demo_answers.text_multilabel import LabelAnswers


class FeatureAnswers(LabelAnswers):
    asks = "features"
    sample = '{"features": {}}'

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive)
        if archive.config["dataset_reader"].get("standardize"):
            self._data = None  # The reader's features are not those of the file, for which the page asks.

    def _inputs(self, request: JsonDict) -> dict[str, Any]:
        return {"features": self.predictor.features([self.predictor.prepare(request)])}

    def _as_input(self, instance: Instance) -> str:
        instance.index_fields(self.model.vocab)
        names = self.model.vocab.get_index_to_token_vocabulary(ATTRIBUTES)
        values = enumerate(instance["features"].tensor.tolist())
        return json.dumps({"features": {names[place]: round(value, 4) for place, value in values if value}})
