"""The encoders of words and texts that use a pretrained transformer."""

from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.token_embedders import PretrainedTransformerEmbedder, PretrainedTransformerMismatchedEmbedder
from transformers import PreTrainedModel

from seal.common.precision import at_least_float, mixed_precision
from seal.common.setting_checks import check_choice, check_range
from seal.nets.encoders.adapters import Adapters
from seal.nets.encoders.encoder import Encoder


def positions_of(transformer: PreTrainedModel) -> Optional[int]:
    """
    The maximum number of pieces that a transformer takes at once; `None` where positions are relative, without a
    limit.
    """
    positions = getattr(transformer.config, "max_position_embeddings", None)
    table = getattr(getattr(transformer, "embeddings", None), "position_embeddings", False)
    # XLNet's number is -1; DeBERTa has a number, but None for a table.
    if positions is None or positions < 0 or table is None:
        return None
    padding = getattr(table, "padding_idx", None)
    # RoBERTa's positions begin after that of padding.
    return positions if padding is None else positions - padding - 1


def set_gradient_checkpointing(transformer: PreTrainedModel, wanted: Optional[bool]) -> None:
    """
    Turns gradient checkpointing on or off; `None`: leaves it as it is. AllenNLP sets it in the model's configuration,
    which a model that is built already does not read.

    # Raises

    `ConfigurationError` if it is to be on and the transformer has none.
    """
    if wanted and not transformer.supports_gradient_checkpointing:
        kind = type(transformer).__name__
        raise ConfigurationError(f"encoder.gradient_checkpointing: {kind} has none; leave it out.")
    if wanted:
        # The reentrant form has no second derivatives, and no gradient where the first layers are frozen.
        transformer.gradient_checkpointing_enable({"use_reentrant": False})
    elif wanted is not None:
        transformer.gradient_checkpointing_disable()


def keep_layers(transformer: PreTrainedModel, layers: Optional[int]) -> None:
    """
    Takes away all layers but the first so many; `None`: none. AllenNLP keeps one copy of a model in memory, whatever
    arguments it is asked for with, so it cannot be asked for fewer layers.

    # Raises

    `ConfigurationError` if it has fewer, or its layers are not found.
    """
    if layers is None:
        return
    number = getattr(transformer.config, "num_hidden_layers", None)
    stacks = [
        (parent, name)
        for parent in transformer.modules()
        for name, child in parent.named_children()
        if isinstance(child, torch.nn.ModuleList) and len(child) == number
    ]
    if number is None or len(stacks) != 1:
        raise ConfigurationError(
            f"encoder.layers: {type(transformer).__name__} has no one stack of layers; leave it out."
        )
    check_range("encoder.layers", layers, least=1, most=number)
    ((parent, name),) = stacks
    setattr(parent, name, getattr(parent, name)[:layers])
    transformer.config.num_hidden_layers = layers


@Encoder.register("transformer")
class TransformerWordEncoder(Encoder):
    """
    A pretrained transformer over wordpieces. The vector of a word is that of its first piece. The predicate, where
    there is one, is marked as in BERT-SRL (Shi & Lin 2019): its wordpieces have token type 1.

    Reads `tokens` (a text field with one `pretrained_transformer_mismatched` indexer of the same `model_name`) and,
    where it is given, `predicate (batch, words)` in {0, 1}.

    # Parameters

    model_name : `str`
        A model of the hub, or a local folder.
    max_length : `int`, optional (default = `512`)
        The most wordpieces the transformer takes at once. A longer sentence is cut into windows of this length that
        are encoded apart, so that every word has a vector; only the predicate's window sees its mark. The reader's
        indexer must have the same value, which is no more than the transformer has positions.
    train_parameters : `bool`, optional (default = `True`)
        `False`: the transformer is frozen, without dropout.
    gradient_checkpointing : `bool`, optional (default = `None`)
        Less memory for more time: what the layers compute inside is computed again in the backward pass.
    marks_predicate : `bool`, optional (default = `True`)
        `False`: for tasks without a predicate, and for transformers without token types.
    layers : `int`, optional (default = `None`)
        Only the first so many of the transformer's layers: a smaller encoder, such as for a loss-net.
    bfloat16_prediction : `bool`, optional (default = `False`)
        Outside training, the transformer runs in mixed precision with bfloat16: faster on a processor with
        `avx512_bf16` or `amx_bf16`, and on a recent GPU.

    # Raises

    `ConfigurationError` if there is no such transformer, it has fewer positions than `max_length`, no gradient
    checkpointing or no token types to mark a predicate with, a predicate is given that it does not mark, or the
    indexer's `max_length` is another.
    """

    def __init__(
        self,
        model_name: str,
        max_length: Optional[int] = 512,
        train_parameters: bool = True,
        gradient_checkpointing: Optional[bool] = None,
        marks_predicate: bool = True,
        layers: Optional[int] = None,
        bfloat16_prediction: bool = False,
    ) -> None:
        super().__init__()
        self._bfloat16_prediction, self._max_length = bfloat16_prediction, max_length
        self._embedder = PretrainedTransformerMismatchedEmbedder(
            model_name,
            max_length=max_length,  # type: ignore[arg-type]  # `None` is its default, against its own annotation.
            train_parameters=train_parameters,
            sub_token_mode="first",
        )
        pieces = self._embedder._matched_embedder
        _check_max_length(max_length, pieces.transformer_model, model_name)
        keep_layers(pieces.transformer_model, layers)
        set_gradient_checkpointing(pieces.transformer_model, gradient_checkpointing)
        if not train_parameters:
            # The embedder of pieces has an argument for this, which that of words does not pass on.
            pieces.eval_mode = True
            pieces.train()
        self._marks_predicate = marks_predicate
        if marks_predicate:
            _ensure_two_token_types(pieces.transformer_model, model_name)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        (pieces,) = inputs["tokens"].values()
        if ("segment_concat_mask" in pieces) != (self._max_length is not None):
            raise ConfigurationError(
                "encoder.max_length: the reader's token indexer 'pretrained_transformer_mismatched' must have the same "
                "max_length, a number in both or null in both."
            )
        arguments = {name: pieces[name] for name in ("token_ids", "mask", "offsets", "wordpiece_mask")}
        arguments["segment_concat_mask"] = pieces.get("segment_concat_mask")
        if inputs.get("predicate") is not None:
            if not self._marks_predicate:
                raise ConfigurationError("encoder.marks_predicate: this task has a predicate; set it to true.")
            arguments["type_ids"] = predicate_pieces(
                inputs["predicate"], pieces["offsets"], self._piece_positions(pieces["token_ids"])
            )
        with mixed_precision(self._bfloat16_prediction and not self.training, pieces["token_ids"].device):
            return at_least_float(self._embedder(**arguments))

    def get_output_dim(self) -> int:
        return self._embedder.get_output_dim()

    def _piece_positions(self, token_ids: torch.Tensor) -> torch.Tensor:
        """
        The position of each piece as `offsets` count it, `(pieces,)`. They count as if a long sentence were not cut,
        whereas every window of `token_ids` has special tokens of its own; these have the position -1.
        """
        embedder, most = self._embedder._matched_embedder, self._max_length
        position = torch.arange(token_ids.shape[1], device=token_ids.device)
        if most is None:
            return position
        window, place = position // most, position % most
        inside = (place >= embedder._num_added_start_tokens) & (place < most - embedder._num_added_end_tokens)
        return torch.where(inside, position - window * embedder._num_added_tokens, -1)


def predicate_pieces(predicate: torch.Tensor, offsets: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """
    `predicate (batch, words)` in {0, 1} as a mark on wordpieces, `(batch, pieces)` in {0, 1}; `offsets
    (batch, words, 2)` are the first and last piece of each word (-1 where it has none), in terms of `position
    (pieces,)` (-1 for a special token).
    """
    first, last = offsets[..., 0].unsqueeze(-1), offsets[..., 1].unsqueeze(-1)
    # shape: (batch, words, num_pieces)
    inside = (position >= first) & (position <= last) & (position >= 0) & (predicate.unsqueeze(-1) > 0)
    return inside.any(dim=1).long()


def _check_max_length(max_length: Optional[int], transformer: PreTrainedModel, model_name: str) -> None:
    positions = positions_of(transformer)
    if max_length is not None and positions is not None and max_length > positions:
        raise ConfigurationError(
            f"encoder.max_length: {max_length} pieces, and the transformer takes {positions}; set it to {positions} or "
            f"less, and that of the token indexer too, as transformer('{model_name}', max_length={positions}) does."
        )


def _ensure_two_token_types(transformer: PreTrainedModel, model_name: str) -> None:
    """
    Gives a transformer with only one token type, as RoBERTa, a second type: a copy of the first with a little noise,
    so that a predicate is told from other words once training moves the two apart.
    """
    embeddings = getattr(transformer, "embeddings", None)
    types = getattr(embeddings, "token_type_embeddings", None)
    if embeddings is None or types is None:
        raise ConfigurationError(
            f"encoder.model_name: '{model_name}' has no token types to mark the predicate with; take a BERT- or "
            "RoBERTa-style model, or set encoder.marks_predicate to false for a task without predicates."
        )
    if types.num_embeddings < 2:
        wider = torch.nn.Embedding(2, types.embedding_dim)
        with torch.no_grad():
            wider.weight.copy_(types.weight[:1].expand(2, -1))
            wider.weight[1] += 0.02 * torch.randn(types.embedding_dim)
        wider.weight.requires_grad_(types.weight.requires_grad)
        embeddings.token_type_embeddings = wider
        transformer.config.type_vocab_size = 2


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
