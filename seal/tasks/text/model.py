from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance, TextFieldTensors
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask

from seal.nets.encoders.transformer import TextTransformer
from seal.tasks.base.fields import LabelSetField, replace_fields
from seal.tasks.multilabel import MultilabelModel
from seal.two_player.objectives import TaskState


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
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> TaskState:
        mask = get_text_field_mask(tokens)
        try:
            self.check_length(mask.shape[1])
        except ConfigurationError:
            if not metadata:
                raise
            # Finding the text synchronises with the GPU, so it is done only for the error.
            self.check_length(mask.shape[1], metadata[int(mask.sum(dim=1).argmax())]["source"])
        return self._task_state({"tokens": tokens}, len(mask), labels, metadata)

    @property
    def positions(self) -> Optional[int]:
        """The maximum number of tokens of a text for all of the model's transformers; `None`: no limit."""
        transformers = [module for module in self.modules() if isinstance(module, TextTransformer)]
        return min((one.positions for one in transformers if one.positions is not None), default=None)

    def check_length(self, length: int, source: Optional[str] = None) -> None:
        """
        # Raises

        `ConfigurationError` if a text of `length` tokens, from `source`, is longer than a transformer of the model
        takes.
        """
        for module in self.modules():
            if isinstance(module, TextTransformer):
                module.check_length(length, source)

    def check_reader(self, reader: Optional[DatasetReader], key: str) -> None:
        found, positions = getattr(reader, "max_tokens", None), self.positions
        if found is not None and positions is not None and found > positions:
            raise ConfigurationError(
                f"{key}.max_tokens: {found} pieces, and the transformer takes {positions}; set it to {positions} or "
                "less."
            )

    def forward(  # type: ignore[override]
        self,
        tokens: TextFieldTensors,
        labels: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        labels : `torch.FloatTensor`, `(texts, labels)`, optional
            0 or 1.
        metadata : `list[dict[str, Any]]`, optional

        # Returns

        As `MultilabelModel`, with a row for each text.
        """
        return self._output(self.task_state(tokens, labels, metadata), labels, metadata)

    def pseudo_labelled(self, instance: Instance, output: torch.Tensor) -> Instance:
        chosen, space = output.nonzero().squeeze(1).tolist(), self.output_space
        field = LabelSetField([space.labels[label] for label in chosen], space.namespace)
        # What `index` would find, without a look into the vocabulary.
        field._label_ids, field._num_labels = chosen, space.num_labels
        return replace_fields(instance, {"labels": None}, labels=field)
