from typing import Any, Dict, Optional

import torch
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask

from seal.nets.encoders.encoder import Encoder


@Encoder.register("seq2seq")
class Seq2SeqPredicateEncoder(Encoder):
    """
    Word embeddings and one of AllenNLP's sequence encoders, a BiLSTM for one; nothing is downloaded. The predicate,
    where `predicate_dim` is given, is an embedding of 0 or 1 beside each word's.

    Reads `tokens` and, with `predicate_dim`, `predicate (batch, words)` in {0, 1}.

    # Parameters

    embedder : `TextFieldEmbedder`
    encoder : `Seq2SeqEncoder`
        Its input size is the embedder's output size plus `predicate_dim`.
    predicate_dim : `int`, optional (default = `0`)
    dropout : `float`, optional (default = `0.0`)
        On the embeddings and on the encoder's output.
    """

    def __init__(
        self,
        embedder: TextFieldEmbedder,
        encoder: Seq2SeqEncoder,
        predicate_dim: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self._embedder = embedder
        self._encoder = encoder
        self._predicate: Optional[torch.nn.Embedding] = None
        if predicate_dim:
            self._predicate = torch.nn.Embedding(2, predicate_dim)
        self._dropout = torch.nn.Dropout(dropout)

    def forward(self, inputs: Dict[str, Any]) -> torch.Tensor:
        embedded = self._dropout(self._embedder(inputs["tokens"]))
        if self._predicate is not None:
            embedded = torch.cat([embedded, self._predicate(inputs["predicate"])], dim=-1)
        return self._dropout(self._encoder(embedded, get_text_field_mask(inputs["tokens"])))

    def get_output_dim(self) -> int:
        return self._encoder.get_output_dim()
