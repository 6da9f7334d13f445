"""Output spaces of tag sequences under a linear chain: legal sequences, and conditional random fields."""

from typing import Optional

import torch
from torch import nn

from seal.common.precision import at_least_float
from seal.common.vocabularies import Vocabulary
from seal.output_spaces.best_paths import viterbi
from seal.output_spaces.chain import Chain
from seal.output_spaces.output_space import OutputSpace
from seal.output_spaces.tag_sequence import TagSequence, log_of_tags
from seal.registry import ConfigurationError


class ChainTagSequence(TagSequence):
    """
    The base of tag sequences under a linear chain. The relaxed output is the marginal of each token, a draw is a whole
    sequence, and `log P(y | x)` is exact. Subclasses define `chain`.
    """

    def chain(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> Chain:
        """The distribution for logits `(batch, tokens, tags)`."""
        raise NotImplementedError

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The marginals `P(y_t | x)`, `(batch, 1, tokens, tags)`."""
        return self.chain(logits, mask).marginals().unsqueeze(1)

    @torch.no_grad()
    def sample(self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return self.chain(logits, mask).sample(num_samples)

    # Not those of `TagSequence`, which draws independent tags.
    relaxed_sample = OutputSpace.relaxed_sample

    def log_prob(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        if outputs.is_floating_point():
            raise TypeError(f"{type(self).__name__} gives no probability of relaxed outputs.")
        return self.chain(logits, mask).log_prob(outputs)

    def _scores_of_tags(self, logits: torch.Tensor) -> torch.Tensor:
        return at_least_float(logits)

    def _log_prob_of_paths(self, logits, paths, values, mask) -> torch.Tensor:
        # `log_prob` uses double precision: in single precision a large score may equal `log Z` in all digits.
        return self.log_prob(logits, paths, mask).masked_fill(values.isneginf(), -torch.inf)

    @torch.no_grad()
    def k_best_and_marginals(
        self, logits: torch.Tensor, k: int, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        paths, values = self._best_paths(logits, k, mask)
        # One chain, so that the marginals and the probabilities share a forward pass.
        chain = self.chain(logits, mask)
        token_log_prob = log_of_tags(chain.marginals(), paths, mask)
        return paths, chain.log_prob(paths).masked_fill(values.isneginf(), -torch.inf), token_log_prob

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return viterbi(self._scores_of_tags(logits), *self._scores_of_pairs(), mask)


@OutputSpace.register("legal_tag_sequence")
class LegalTagSequence(ChainTagSequence):
    """
    Tag sequences that are legal in an encoding, `P(y | x) = exp(sum_t logits_t[y_t]) / Z(x)` with `Z` the sum over
    legal sequences: a softmax over whole sequences in place of one for each token, without further parameters.
    Training, draws and relaxed outputs follow the encoding, as decoding does.

    # Parameters

    vocab, namespace : as for `TagSequence`
    encoding : `str`, optional (default = `"BIO"`)
        `"BIO"`, `"BIOES"` or `"auto"`, as for `TagSequence`.

    # Raises

    `ConfigurationError` if the namespace holds no tags, or they are not of the encoding, or it is `None`.
    """

    def __init__(self, vocab: Vocabulary, namespace: str = "tags", encoding: Optional[str] = "BIO") -> None:
        super().__init__(vocab, namespace, encoding)
        if self.encoding is None:
            raise ConfigurationError(
                "output_space: every sequence of tags without an encoding is legal; use 'tag_sequence' in place of "
                "'legal_tag_sequence'."
            )

    def chain(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> Chain:
        return Chain(self._scores_of_tags(logits), *self._scores_of_pairs(), mask)


@OutputSpace.register("crf_tag_sequence")
class CrfTagSequence(ChainTagSequence):
    """
    Tag sequences under a linear-chain conditional random field (Lafferty, McCallum & Pereira 2001), as in the baselines
    BERT-CRF and BiLSTM-CRF: `P(y | x) = exp(sum_t logits_t[y_t] + transitions[y_{t-1}, y_t]) / Z(x)` with learned
    scores of pairs, of the first and of the last tag, trained by its likelihood and decoded by Viterbi. These scores
    belong to the task-net.

    # Parameters

    vocab, namespace, encoding, constrained : as for `TagSequence`
    legal : `bool`, optional (default = `False`)
        If true, the distribution is over the legal sequences of the encoding. If false, it is over all sequences, and
        decoding rules out illegal ones if it is `constrained`.

    # Raises

    `ConfigurationError` as `TagSequence` does.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        namespace: str = "tags",
        encoding: Optional[str] = "BIO",
        constrained: bool = True,
        legal: bool = False,
    ) -> None:
        super().__init__(vocab, namespace, encoding, constrained)
        self.legal = legal
        self.crf = _Crf(self.num_labels)

    def chain(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> Chain:
        transition_scores = self._scores_of_pairs() if self.legal else self.crf.scores()
        return Chain(self._scores_of_tags(logits), *transition_scores, mask)

    def _scores_of_pairs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        transitions, starts, ends = self.crf.scores()
        pairs, firsts, lasts = super()._scores_of_pairs()
        if firsts is None or lasts is None:
            return transitions, starts, ends
        return transitions + pairs, starts + firsts, ends + lasts


class _Crf(nn.Module):
    """The parameters, with the names, order and initial values of AllenNLP's `ConditionalRandomField`."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(tags, tags))
        self.start_transitions = nn.Parameter(torch.empty(tags))
        self.end_transitions = nn.Parameter(torch.empty(tags))
        nn.init.xavier_normal_(self.transitions)
        nn.init.normal_(self.start_transitions)
        nn.init.normal_(self.end_transitions)

    def scores(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.transitions, self.start_transitions, self.end_transitions

    def _load_from_state_dict(self, state_dict, prefix, *others) -> None:
        # Archives with AllenNLP's module have this entry.
        state_dict.pop(f"{prefix}_constraint_mask", None)
        super()._load_from_state_dict(state_dict, prefix, *others)
