from typing import Optional

import torch
from torch import nn

from seal.common.vocabularies import Vocabulary
from seal.output_spaces.chain import Chain, DensePairs
from seal.output_spaces.chain_tag_sequence import ChainTagSequence
from seal.output_spaces.output_space import OutputSpace


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
        Whether the distribution is over the sequences that are legal in the encoding alone. Otherwise it is over all
        paths, and the encoding rules out illegal ones in decoding, if that is `constrained`.

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
        crf = self.crf
        if self.legal:
            transitions, starts, ends = self._scores_of_pairs()
        else:
            transitions, starts, ends = crf.transitions, crf.start_transitions, crf.end_transitions
        return Chain(self._scores_of_tags(logits), DensePairs(transitions), starts, ends, mask)

    def _scores_of_pairs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        crf = self.crf
        transitions, starts, ends = super()._scores_of_pairs()
        if starts is None or ends is None:
            return crf.transitions, crf.start_transitions, crf.end_transitions
        return crf.transitions + transitions, crf.start_transitions + starts, crf.end_transitions + ends


class _Crf(nn.Module):
    """The parameters, with the names, the order and the initial values that AllenNLP's module of this kind has."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(tags, tags))
        self.start_transitions = nn.Parameter(torch.empty(tags))
        self.end_transitions = nn.Parameter(torch.empty(tags))
        nn.init.xavier_normal_(self.transitions)
        nn.init.normal_(self.start_transitions)
        nn.init.normal_(self.end_transitions)

    def _load_from_state_dict(self, state_dict, prefix, *others) -> None:
        # Models that were trained with AllenNLP's module have it.
        state_dict.pop(f"{prefix}_constraint_mask", None)
        super()._load_from_state_dict(state_dict, prefix, *others)
