"""The encoder `attention_decoder`: an LSTM decoder with attention, which reads a tree symbol by symbol."""

from typing import Any, NamedTuple, Optional

import torch

from seal.common.linear_trees import WORD
from seal.common.setting_checks import check_range
from seal.common.vocabularies import Vocabulary, labels_of
from seal.nets.encoders.encoder import Encoder
from seal.registry import ConfigurationError


class Source(NamedTuple):
    """
    A batch of sentences as the decoder reads them.

    # Parameters

    vectors : `torch.Tensor`, `(rows, words + 1, size)`
        Of each word; 0 after the last word.
    mask : `torch.BoolTensor`, `(rows, words + 1)`
    """

    vectors: torch.Tensor
    mask: torch.Tensor

    def select(self, rows: torch.Tensor) -> "Source":
        return Source(self.vectors[rows], self.mask[rows])


#: Hidden and cell state of an LSTM, each `(layers, rows, size)`.
State = tuple[torch.Tensor, torch.Tensor]


@Encoder.register("attention_decoder")
class AttentionDecoder(Encoder):
    """
    A sequence-to-sequence network with attention over the words: a vector for each step of the output. It is the
    feature network `f` of parsing (Tu, Pang & Gimpel 2020, appendix A.1, after Tran et al. 2018): an encoder of words,
    and an LSTM over the symbols before each step,

        h_t = LSTM(h_{t-1}, symbol_{t-1}),  a_t = softmax_j(h_t^T W s_j),  f_t = tanh(V [h_t ; sum_j a_tj s_j])

    with `s_j` the vector of word `j`. As the symbols before a step say which word is next, `s` of that word is also
    read beside the symbol and beside `h_t` (`next_word`); Tran et al. give the attention its earlier places to that
    end.

    Reads what `source` reads, `words (batch, words)`, True at real words, and `earlier (batch, steps)`: the symbol
    before each step, by index, or the number of symbols for the start.

    # Parameters

    source : `Encoder`
        A vector for each word.
    vocab : `Vocabulary` or `list[str]`
        With the symbols, or a list of them. Given by the model.
    hidden_dim : `int`, optional (default = `200`)
        The size of the LSTM and of the vectors.
    symbol_dim : `int`, optional (default = `32`)
        The size of a symbol's embedding.
    num_layers : `int`, optional (default = `1`)
    dropout : `float`, optional (default = `0.0`)
        On the embeddings of symbols, between layers, and on the vectors.
    next_word : `bool`, optional (default = `True`)
        As above. If not, attention alone finds the words.
    namespace : `str`, optional (default = `"tree_tags"`)

    # Raises

    `ConfigurationError` if a size is less than 1, or the symbols lack `XX`.
    """

    def __init__(
        self,
        source: Encoder,
        vocab: Vocabulary,
        hidden_dim: int = 200,
        symbol_dim: int = 32,
        num_layers: int = 1,
        dropout: float = 0.0,
        next_word: bool = True,
        namespace: str = "tree_tags",
    ) -> None:
        super().__init__()
        sizes = {"hidden_dim": hidden_dim, "symbol_dim": symbol_dim, "num_layers": num_layers}
        for name, size in sizes.items():
            check_range(f"encoder.{name}", size, least=1)
        check_range("encoder.dropout", dropout, least=0, below=1)
        symbols = labels_of(vocab, namespace)
        if WORD not in symbols:
            raise ConfigurationError(f"encoder.namespace: '{namespace}' has no symbols of trees.")
        self._word = symbols.index(WORD)
        self.source = source
        self._next_word = next_word
        size = source.get_output_dim()
        self._symbols = torch.nn.Embedding(len(symbols) + 1, symbol_dim)
        self._lstm = torch.nn.LSTM(
            symbol_dim + size * next_word,
            hidden_dim,
            num_layers,
            batch_first=True,
            dropout=dropout if num_layers > 1 else 0.0,
        )
        self._start = torch.nn.Linear(size, 2 * num_layers * hidden_dim)
        self._query = torch.nn.Linear(hidden_dim, size, bias=False)
        self._combine = torch.nn.Linear(hidden_dim + size * (1 + next_word), hidden_dim)
        self._dropout = torch.nn.Dropout(dropout)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        """`(batch, steps, size)`, each vector from the words and the symbols before its step."""
        earlier = inputs["earlier"]
        source, state = self.read(inputs)
        vectors, _ = self.steps(source, earlier, (earlier == self._word).cumsum(dim=1), state)
        return vectors

    def read(self, inputs: dict[str, Any]) -> tuple[Source, State]:
        """The sentences, and the LSTM's state before the first step."""
        words = self.source(inputs)
        # A further word of zeros is the next one after the last.
        vectors = torch.nn.functional.pad(words * inputs["words"].unsqueeze(-1), (0, 0, 0, 1))
        mask = torch.nn.functional.pad(inputs["words"], (0, 1))
        mean = vectors.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
        start = torch.tanh(self._start(mean)).view(len(mean), 2, self._lstm.num_layers, self._lstm.hidden_size)
        hidden, cell = start.permute(1, 2, 0, 3).contiguous().unbind(dim=0)
        return Source(vectors, mask), (hidden, cell)

    def steps(
        self, source: Source, earlier: torch.Tensor, num_read: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, State]:
        """
        # Parameters

        source : `Source`
        earlier : `torch.LongTensor`, `(rows, steps)`
            The symbol before each step.
        num_read : `torch.LongTensor`, `(rows, steps)`
            How many words are read before each step.
        state : the LSTM's state before the first of these steps

        # Returns

        The vectors `(rows, steps, size)`, and the state after the last step.
        """
        symbols = self._dropout(self._symbols(earlier))
        following: Optional[torch.Tensor] = None
        if self._next_word:
            # More symbols of words than words only occur at padding.
            place = num_read.clamp(max=source.vectors.shape[1] - 1).unsqueeze(-1)
            following = source.vectors.gather(1, place.expand(-1, -1, source.vectors.shape[2]))
            symbols = torch.cat([symbols, following], dim=-1)
        hidden, state = self._lstm(symbols, state)
        scores = self._query(hidden) @ source.vectors.transpose(1, 2)
        scores = scores.masked_fill(~source.mask.unsqueeze(1), torch.finfo(scores.dtype).min)
        parts = [hidden, scores.softmax(dim=-1) @ source.vectors]
        if following is not None:
            parts.append(following)
        return self._dropout(torch.tanh(self._combine(torch.cat(parts, dim=-1)))), state

    def get_output_dim(self) -> int:
        return self._combine.out_features
