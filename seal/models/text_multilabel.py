from typing import Any, Dict, List, Optional

import torch
from allennlp.data import TextFieldTensors
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask

from seal.models.multilabel import MultilabelModel
from seal.models.seal_model import TaskState


@Model.register("seal_text_multilabel")
class TextMultilabelModel(MultilabelModel):
    """
    Multi-label classification of texts (`seal_text_multilabel` reader): a `MultilabelModel` whose encoders read
    `tokens` in the place of `features`.

    # Parameters

    As for `MultilabelModel`.
    """

    default_predictor = "seal_text_multilabel"

    def task_state(  # type: ignore[override]
        self,
        tokens: TextFieldTensors,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> TaskState:
        return self._task_state({"tokens": tokens}, len(get_text_field_mask(tokens)), labels)

    def forward(  # type: ignore[override]
        self,
        tokens: TextFieldTensors,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[List[Dict[str, Any]]] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        labels : `torch.FloatTensor`, `(texts, labels)`, optional
            0 or 1.
        metadata : `List[Dict[str, Any]]`, optional

        # Returns

        As `MultilabelModel`, a row a text.
        """
        return self._output(self.task_state(tokens, labels), labels)
