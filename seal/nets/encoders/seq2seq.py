"""The encoders of words and texts that use AllenNLP's embedders and encoders."""

from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.data import TextFieldTensors
from allennlp.modules import Seq2SeqEncoder, Seq2VecEncoder, TextFieldEmbedder, TokenEmbedder
from allennlp.nn.util import get_text_field_mask

from seal.common.setting_checks import check_range
from seal.nets.encoders.encoder import Encoder

# The index of unknown words in every namespace of AllenNLP that has them; 0 is padding's.
_UNKNOWN = 1


@Encoder.register("seq2seq")
class Seq2SeqWordEncoder(Encoder):
    """
    Word embeddings and one of AllenNLP's sequence encoders, such as a BiLSTM; nothing is downloaded. With
    `predicate_dim`, an embedding of the predicate's mark, 0 or 1, is concatenated to that of each word.

    Reads `tokens`; with `predicate_dim`, `predicate (batch, words)` in {0, 1}; and each of `features`, `(batch, words)`
    indices. With the reader's part of speech and first letters beside the words ("NER+"; Tu, Pang & Gimpel 2020):

        features: {
          pos: {type: 'embedding', embedding_dim: 8, vocab_namespace: 'pos_features'},
          case: {type: 'embedding', embedding_dim: 4, vocab_namespace: 'case_features'},
        }

    # Parameters

    embedder : `TextFieldEmbedder`
    encoder : `Seq2SeqEncoder`
        Its input size is the embedder's output size plus `predicate_dim` plus those of `features`.
    predicate_dim : `int`, optional (default = `0`)
    dropout : `float`, optional (default = `0.0`)
        On the embeddings and on the encoder's output.
    word_dropout : `float`, optional (default = `0.0`)
        The probability that a word counts as unknown in training, so that the net learns to read what is around it: its
        index becomes that of unknown words wherever it has an index (indexers `single_id`); its characters and features
        stay.
    features : `dict[str, TokenEmbedder]`, optional (default = `None`)
        Embedders of further inputs, by the names that the reader gives them.

    # Raises

    `ConfigurationError` if the encoder's input size is another, an input among `features` is missing, or a predicate is
    given and there is no `predicate_dim`.
    """

    def __init__(
        self,
        embedder: TextFieldEmbedder,
        encoder: Seq2SeqEncoder,
        predicate_dim: int = 0,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        features: Optional[dict[str, TokenEmbedder]] = None,
    ) -> None:
        super().__init__()
        feature_dims = [part.get_output_dim() for part in (features or {}).values()]
        check_dimensions_match(
            embedder.get_output_dim() + predicate_dim + sum(feature_dims),
            encoder.get_input_dim(),
            "the sizes of encoder.embedder, predicate_dim and features together",
            "the input size of encoder.encoder",
        )
        self._embedder = embedder
        self._encoder = encoder
        self._predicate: Optional[torch.nn.Embedding] = None
        if predicate_dim:
            self._predicate = torch.nn.Embedding(2, predicate_dim)
        self._features: Optional[torch.nn.ModuleDict] = None
        if features:
            # Sorted, so that the order in the config does not matter. None without features, which keeps the weights'
            # names.
            self._features = torch.nn.ModuleDict({f"{name}_embedder": features[name] for name in sorted(features)})
        self._dropout = torch.nn.Dropout(dropout)
        check_range("encoder.word_dropout", word_dropout, least=0, below=1)
        self._word_dropout = word_dropout

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        tokens = inputs["tokens"]
        if self.training and self._word_dropout > 0:
            tokens = _with_unknown_words(tokens, self._word_dropout)
        embedded = self._dropout(self._embedder(tokens))
        if self._predicate is None and inputs.get("predicate") is not None:
            raise ConfigurationError(
                "encoder.predicate_dim: this task has a predicate, and an encoder that does not see it would give all "
                "predicates of a sentence the same roles; set it, to 16 for one."
            )
        if self._predicate is not None:
            embedded = torch.cat([embedded, self._predicate(inputs["predicate"])], dim=-1)
        if self._features is not None:
            embedded = torch.cat([embedded, *self._embedded_features(self._features, inputs)], dim=-1)
        return self._dropout(self._encoded(embedded, get_text_field_mask(inputs["tokens"])))

    def _encoded(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        lstm = getattr(self._encoder, "_module", None)
        learns = torch.is_grad_enabled() and not self._encoder.stateful
        on_cpu = embedded.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
        if isinstance(lstm, torch.nn.LSTM) and lstm.batch_first and lstm.proj_size == 0 and learns and on_cpu:
            return lstm_of_padded(lstm, embedded, mask)
        return self._encoder(embedded, mask)

    def _embedded_features(self, features: torch.nn.ModuleDict, inputs: dict[str, Any]) -> list[torch.Tensor]:
        embedded = []
        for key, embedder in features.items():
            name = key[: -len("_embedder")]
            if name not in inputs:
                remedy = "dataset_reader.case to true" if name == "case" else "it among dataset_reader.feature_columns"
                raise ConfigurationError(f"encoder.features: the reader gives no '{name}'; set {remedy}.")
            embedded.append(self._dropout(embedder(inputs[name])))
        return embedded

    def get_output_dim(self) -> int:
        return self._encoder.get_output_dim()


def _with_unknown_words(tokens: TextFieldTensors, probability: float) -> TextFieldTensors:
    """Words at random, the same for all indexers, are unknown."""
    mask = get_text_field_mask(tokens)
    unknown = mask & (torch.rand(mask.shape, device=mask.device) < probability)
    return {
        name: {key: ids.masked_fill(unknown, _UNKNOWN) if key == "tokens" else ids for key, ids in indexed.items()}
        for name, indexed in tokens.items()
    }


def lstm_of_padded(lstm: torch.nn.LSTM, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """
    What the LSTM makes of sequences `(batch, words, size)` that end in padding, where the result is 0. Of packed
    sequences, torch's backward pass on a CPU fills a tensor as large as the whole batch for each word: that takes more
    than twice as long.
    """
    lengths, places = mask.sum(dim=1, keepdim=True), torch.arange(inputs.shape[1], device=inputs.device)
    reverse = torch.where(mask, lengths - 1 - places, places).unsqueeze(2)
    start = inputs.new_zeros(1, len(inputs), lstm.hidden_size)
    directions, hidden = 1 + lstm.bidirectional, inputs
    for layer in range(lstm.num_layers):
        if layer > 0 and lstm.dropout > 0:
            hidden = torch.dropout(hidden, lstm.dropout, lstm.training)
        found = []
        for direction in range(directions):
            weights = [getattr(lstm, name) for name in lstm._all_weights[layer * directions + direction]]
            order = reverse.expand(-1, -1, hidden.shape[2])
            read = hidden.gather(1, order) if direction else hidden
            states = torch._VF.lstm(read, (start, start), weights, lstm.bias, 1, 0.0, lstm.training, False, True)[0]
            found.append(states.gather(1, reverse.expand(-1, -1, states.shape[2])) if direction else states)
        hidden = torch.cat(found, dim=2)
    return hidden * mask.unsqueeze(2)


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
