from typing import Optional

import torch

from seal.common.vocabularies import Vocabulary
from seal.output_spaces.chain import Chain, LegalPairs
from seal.output_spaces.chain_tag_sequence import ChainTagSequence
from seal.output_spaces.output_space import OutputSpace
from seal.registry import ConfigurationError


@OutputSpace.register("legal_tag_sequence")
class LegalTagSequence(ChainTagSequence):
    """
    Tag sequences that are legal in an encoding, `P(y | x) = exp(sum_t logits_t[y_t]) / Z(x)` with `Z` the sum over
    these: a softmax over whole sequences in place of one for each token, without further parameters. Training, draws
    and relaxed outputs know what can occur, and not only decoding. A sum over all sequences costs `O(tokens * tags)`.

    # Parameters

    vocab, namespace : as for `TagSequence`
    encoding : `str`, optional (default = `"BIO"`)
        `"BIO"` or `"BIOES"`.

    # Raises

    `ConfigurationError` if the namespace holds no tags, or they are not of the encoding, or it is `None`.
    """

    def __init__(self, vocab: Vocabulary, namespace: str = "tags", encoding: Optional[str] = "BIO") -> None:
        if encoding is None:
            raise ConfigurationError(
                "output_space: every sequence of tags without an encoding is legal; use 'tag_sequence' in place of "
                "'legal_tag_sequence'."
            )
        super().__init__(vocab, namespace, encoding)
        self._pairs = LegalPairs(self._scores_of_pairs()[0])

    def chain(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> Chain:
        _, starts, ends = self._scores_of_pairs()
        return Chain(self._scores_of_tags(logits), self._pairs, starts, ends, mask)
