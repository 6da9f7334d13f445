from typing import Optional

import torch

from seal.common.precision import at_least_float
from seal.output_spaces.chain import Chain
from seal.output_spaces.output_space import OutputSpace
from seal.output_spaces.tag_sequence import TagSequence
from seal.output_spaces.viterbi import viterbi


class ChainTagSequence(TagSequence):
    """
    Tag sequences under a linear chain: its relaxed output is the marginal of each token, its draws are of whole
    sequences, and `log P(y | x)` is exact. A subclass gives the chain.
    """

    def chain(self, logits: torch.Tensor, mask: Optional[torch.Tensor]) -> Chain:
        """The distribution that the logits `(batch, tokens, tags)` make."""
        raise NotImplementedError

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The marginals `P(y_t | x)`, `(batch, 1, tokens, tags)`."""
        return self.chain(logits, mask).marginals().unsqueeze(1)

    @torch.no_grad()
    def sample(self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return self.chain(logits, mask).sample(num_samples)

    # The draws of `TagSequence` are of independent tags.
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
        # In double precision: large scores and their sum over all paths may agree in all digits of a float.
        return self.log_prob(logits, paths, mask).masked_fill(values.isneginf(), -torch.inf)

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        transitions, starts, ends = self._scores_of_pairs()
        return viterbi(self._scores_of_tags(logits), transitions, starts, ends, mask)
