from typing import Optional

import torch

from seal.common.labels import Vocabulary
from seal.output_spaces.linear_chain_crf import LinearChainCrf
from seal.output_spaces.output_space import OutputSpace
from seal.output_spaces.tag_sequence import TagSequence
from seal.output_spaces.viterbi import viterbi
from seal.registry import ConfigurationError


@OutputSpace.register("crf_tag_sequence")
class CrfTagSequence(TagSequence):
    """
    Tag sequences under a linear-chain conditional random field, for the baselines BERT-CRF and
    BiLSTM-CRF: `P(y | x) = exp(sum_t logits_t[y_t] + transitions[y_{t-1}, y_t]) / Z(x)` with learned start, end and
    pair scores, trained by its likelihood and decoded by Viterbi. The transitions belong to the task-net.

    It is a baseline and has no sampler: with a loss-net use `tag_sequence`.

    # Parameters

    As for `TagSequence`. The encoding rules out illegal paths in decoding, if that is `constrained`; the likelihood is
    over all paths.
    """

    serves_loss_net = False

    def __init__(
        self,
        vocab: Vocabulary,
        namespace: str = "tags",
        encoding: Optional[str] = "BIO",
        constrained: bool = True,
    ) -> None:
        super().__init__(vocab, namespace, encoding, constrained)
        self.crf = LinearChainCrf(self.num_labels)

    def relax(self, logits, mask=None):
        # The softmax of each token's logits, which is the relaxation of `tag_sequence`, is not a marginal here.
        raise ConfigurationError(
            "output_space: 'crf_tag_sequence' has no relaxed output; use 'tag_sequence' with a loss-net."
        )

    def sample(self, logits, num_samples, mask=None):
        raise ConfigurationError(
            "output_space: 'crf_tag_sequence' has no sampler; use 'tag_sequence' with a loss-net."
        )

    def log_prob(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        if outputs.is_floating_point():
            raise ConfigurationError("output_space: 'crf_tag_sequence' gives no probability of relaxed outputs.")
        return self.crf.score(logits, outputs, mask) - self.crf.log_partition(logits, mask).unsqueeze(1)

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return viterbi(logits, *self._scores_of_pairs(), mask)

    def _scores_of_tags(self, logits: torch.Tensor) -> torch.Tensor:
        return logits

    def _scores_of_pairs(self):
        crf = self.crf
        transitions, starts, ends = crf.transitions, crf.start_transitions, crf.end_transitions
        if self._transitions is not None:
            transitions, starts = transitions + self._transitions, starts + self._starts
            ends = ends + self._ends
        return transitions, starts, ends

    def _log_partition(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        return self.crf.log_partition(logits, mask).unsqueeze(1)
