from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import PretrainedTransformerEmbedder

from seal.common.precision import at_least_float, mixed_precision
from seal.common.setting_checks import check_choice
from seal.nets.encoders.adapters import Adapters
from seal.nets.encoders.encoder import Encoder
from seal.nets.encoders.hub_model import keep_layers, positions_of, set_gradient_checkpointing

_POOLINGS = ("cls", "mean")


@Encoder.register("text_transformer")
class TextTransformer(Encoder):
    """
    A pretrained transformer over the wordpieces of a text, with one vector for each text: fine-tuned, frozen, or with
    adapters.

    Reads `tokens`: a text field of wordpieces with one `pretrained_transformer` indexer of the same `model_name`,
    without a `max_length`; the `seal_text_multilabel` reader cuts texts.

    # Parameters

    model_name : `str`
        A model of the hub, or a local folder.
    pooling : `str`, optional (default = `"mean"`)
        `"cls"`: the vector of the first piece, as BERT's classifiers take it. `"mean"`: that of all pieces, special
        ones included, as models of sentence embeddings are trained.
    train_parameters : `bool`, optional (default = `True`)
        `False`: the transformer is frozen, without dropout.
    adapters : `Adapters`, optional (default = `None`)
        Only these are trained.
    gradient_checkpointing : `bool`, optional (default = `None`)
        Less memory for more time: what the layers compute inside is computed again in the backward pass.
    layers : `int`, optional (default = `None`)
        Only the first so many of the transformer's layers: a smaller encoder, such as for a loss-net.
    bfloat16_prediction : `bool`, optional (default = `False`)
        Outside training, the transformer runs in mixed precision with bfloat16: faster on a processor with
        `avx512_bf16` or `amx_bf16`, and on a recent GPU.

    # Raises

    `ConfigurationError` if there is no such transformer or pooling, it has no gradient checkpointing, `adapters` are
    given although `train_parameters` is false, or a text is longer than the transformer has positions.
    """

    def __init__(
        self,
        model_name: str,
        pooling: str = "mean",
        train_parameters: bool = True,
        adapters: Optional[Adapters] = None,
        gradient_checkpointing: Optional[bool] = None,
        layers: Optional[int] = None,
        bfloat16_prediction: bool = False,
    ) -> None:
        super().__init__()
        self._bfloat16_prediction = bfloat16_prediction
        check_choice("encoder.pooling", pooling, _POOLINGS)
        if adapters is not None and not train_parameters:
            raise ConfigurationError("encoder.train_parameters: with adapters, leave it out; only they are trained.")
        self._embedder = PretrainedTransformerEmbedder(
            model_name,
            train_parameters=train_parameters,
            eval_mode=not train_parameters,
        )
        keep_layers(self._embedder.transformer_model, layers)
        set_gradient_checkpointing(self._embedder.transformer_model, gradient_checkpointing)
        self._pooling = pooling
        if adapters is not None:
            adapters.insert(self._embedder.transformer_model)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        (pieces,) = inputs["tokens"].values()
        if "segment_concat_mask" in pieces:
            raise ConfigurationError(
                "encoder: the reader's token indexer 'pretrained_transformer' must have no max_length; set the "
                "reader's max_tokens."
            )
        self.check_length(pieces["token_ids"].shape[1])
        # shape: (texts, pieces, size)
        with mixed_precision(self._bfloat16_prediction and not self.training, pieces["token_ids"].device):
            vectors = at_least_float(self._embedder(pieces["token_ids"], pieces["mask"]))
        if self._pooling == "cls":
            return vectors[:, 0]
        mask = pieces["mask"].unsqueeze(-1)
        return (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)

    def get_output_dim(self) -> int:
        return self._embedder.get_output_dim()

    @property
    def positions(self) -> Optional[int]:
        """The most pieces that the transformer takes at once; `None`: any number."""
        return positions_of(self._embedder.transformer_model)

    def check_length(self, length: int, source: Optional[str] = None) -> None:
        """
        # Parameters

        length : `int`
            The length of a text, in pieces.
        source : `str`, optional
            `file:line`, for the message.

        # Raises

        `ConfigurationError` if the transformer has fewer positions.
        """
        positions = self.positions
        if positions is not None and length > positions:
            raise ConfigurationError(
                f"{source or 'encoder'}: a text has {length} pieces, and the transformer takes {positions}; set "
                f"dataset_reader.max_tokens to {positions} or less."
            )
