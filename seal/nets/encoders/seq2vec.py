from typing import Any

import torch
from allennlp.common.checks import check_dimensions_match
from allennlp.modules import Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn.util import get_text_field_mask

from seal.nets.encoders.encoder import Encoder


@Encoder.register("seq2vec")
class Seq2VecTextEncoder(Encoder):
    """
    Word embeddings and one of AllenNLP's encoders of a sequence into one vector, such as a BiLSTM; nothing is
    downloaded.

    Reads `tokens`.

    # Parameters

    embedder : `TextFieldEmbedder`
    encoder : `Seq2VecEncoder`
        Its input size is the embedder's output size.
    dropout : `float`, optional (default = `0.0`)
        On the embeddings and on the vector.

    # Raises

    `ConfigurationError` if the encoder's input size is another.
    """

    def __init__(self, embedder: TextFieldEmbedder, encoder: Seq2VecEncoder, dropout: float = 0.0) -> None:
        super().__init__()
        check_dimensions_match(
            embedder.get_output_dim(),
            encoder.get_input_dim(),
            "the size of encoder.embedder",
            "the input size of encoder.encoder",
        )
        self._embedder = embedder
        self._encoder = encoder
        self._dropout = torch.nn.Dropout(dropout)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        embedded = self._dropout(self._embedder(inputs["tokens"]))
        return self._dropout(self._encoder(embedded, get_text_field_mask(inputs["tokens"])))

    def get_output_dim(self) -> int:
        return self._encoder.get_output_dim()
