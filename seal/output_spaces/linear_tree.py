"""The output space of constituency trees as sequences of symbols, and prefixes of such sequences."""

import torch

from seal.common.linear_trees import CLOSE, WORD
from seal.common.setting_checks import check_range
from seal.common.vocabularies import Vocabulary
from seal.output_spaces.output_space import OutputSpace
from seal.output_spaces.tag_sequence import TagSequence
from seal.registry import ConfigurationError


@OutputSpace.register("linear_tree")
class LinearTree(TagSequence):
    """
    A constituency tree as a sequence of symbols, one for each *output step*: `(NP` opens a constituent, `)` closes the
    last one that is open, and `XX` is the next word (Vinyals et al. 2015; Tran et al. 2018):

        (S (NP XX ) (VP XX (NP XX ) ) )

    The model is autoregressive: `P(y | x) = prod_t Categorical(y_t; softmax(logits_t))`, where `logits_t` is computed
    from `x` and `y_1 .. y_{t-1}`. In training these are gold's (teacher forcing), so that a batch of logits is `(batch,
    steps, symbols)` with a mask over steps, and energies, samplers and losses handle it like tags. Draws and `decode`
    then take each step independently, and may not be trees. Predictions come from `seal.nets.tree_beam`, and are
    always trees.

    # Parameters

    vocab : `Vocabulary` or `list[str]`
        With the symbols, or a list of them.
    namespace : `str`, optional (default = `"tree_tags"`)
        The vocabulary's namespace of the symbols.
    max_opened : `int`, optional (default = `12`)
        The most constituents that begin at one word in a prediction, which bounds the number of steps.

    # Raises

    `ConfigurationError` if the namespace lacks `XX`, `)` or any constituent, or `max_opened` is less than 1.
    """

    def __init__(self, vocab: Vocabulary, namespace: str = "tree_tags", max_opened: int = 12) -> None:
        super().__init__(vocab, namespace, encoding=None)
        check_range("output_space.max_opened", max_opened, least=1)
        if not {CLOSE, WORD} < set(self.labels):
            raise ConfigurationError(
                f"output_space.namespace: '{namespace}' has no symbols of trees; name the namespace the dataset reader "
                "gives them."
            )
        self.max_opened = max_opened
        #: The indices of `XX` and of `)`; all other symbols open a constituent.
        self.word, self.close = self.labels.index(WORD), self.labels.index(CLOSE)
        #: The index of the symbol before the first one.
        self.start = self.num_labels

    def before(self, symbols: torch.Tensor) -> torch.Tensor:
        """The symbol before each of `symbols (batch, steps)`, of the same shape; `start` before the first one."""
        return torch.nn.functional.pad(symbols, (1, 0), value=self.start)[:, :-1]

    def strings(self, symbols: list[int]) -> list[str]:
        """The symbols with these indices."""
        return [self.labels[symbol] for symbol in symbols]


class TreePrefixes:
    """
    Prefixes of trees, one for each row, and the symbols that may follow. Each prefix can become a tree over all words
    of its sentence, in which every constituent has a word.

    # Parameters

    space : `LinearTree`
    num_words : `torch.LongTensor`, `(rows,)`
        The length of each sentence, at least 1.
    """

    def __init__(self, space: LinearTree, num_words: torch.Tensor) -> None:
        self._space = space
        #: The number of words that are still to come, `(rows,)`.
        self.unread = num_words
        self._depth = torch.zeros_like(num_words)
        # The number of opening symbols since the last other symbol.
        self._opened = torch.zeros_like(num_words)

    @property
    def ending(self) -> torch.Tensor:
        """Whether one more `)` completes the tree, `(rows,)`."""
        return (self.unread == 0) & (self._depth == 1)

    def allowed(self) -> torch.Tensor:
        """Whether each symbol may follow, `(rows, symbols)`."""
        words_left = self.unread > 0
        may_open = words_left & (self._opened < self._space.max_opened)
        allowed = may_open.unsqueeze(1).repeat(1, self._space.num_labels)
        allowed[:, self._space.word] = words_left & (self._depth > 0)
        # The root may be closed only after the last word.
        inside = torch.where(words_left, self._depth > 1, self._depth > 0)
        allowed[:, self._space.close] = inside & (self._opened == 0)
        return allowed

    def advance(self, symbols: torch.Tensor) -> None:
        """Appends a symbol to each row, `(rows,)`."""
        is_word, is_close = symbols == self._space.word, symbols == self._space.close
        opens = ~(is_word | is_close)
        self.unread = self.unread - is_word.long()
        self._depth = self._depth + opens.long() - is_close.long()
        self._opened = torch.where(opens, self._opened + 1, 0)

    def select(self, rows: torch.Tensor) -> None:
        """Selects rows by index, in this order; a row may be repeated."""
        self.unread, self._depth, self._opened = self.unread[rows], self._depth[rows], self._opened[rows]
