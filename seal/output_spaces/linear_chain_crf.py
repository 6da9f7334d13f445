from typing import Optional

import torch


class LinearChainCrf(torch.nn.Module):
    """
    The scores of a linear-chain conditional random field (Lafferty, McCallum & Pereira 2001) beside those of single
    tags: one for each pair of tags in a row, one for the first tag and one for the last. Weights have the names that
    AllenNLP's `ConditionalRandomField` gives them, and the same random start.

    # Parameters

    num_tags : `int`
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self.transitions = torch.nn.Parameter(torch.empty(num_tags, num_tags))
        # AllenNLP's module has this, with start and end as two more tags. All pairs are allowed.
        self._constraint_mask = torch.nn.Parameter(torch.ones(num_tags + 2, num_tags + 2), requires_grad=False)
        self.start_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.end_transitions = torch.nn.Parameter(torch.empty(num_tags))
        torch.nn.init.xavier_normal_(self.transitions)
        torch.nn.init.normal_(self.start_transitions)
        torch.nn.init.normal_(self.end_transitions)

    def log_partition(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        The logarithm of the sum over all paths of the exponential of their score, by the forward algorithm.

        # Parameters

        logits : `torch.Tensor`, `(batch, tokens, tags)`
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional
            True at real tokens, which come first.

        # Returns

        `torch.Tensor`, `(batch,)`
        """
        total = logits[:, 0] + self.start_transitions
        for t in range(1, logits.shape[1]):
            # shape: (batch, from, to)
            paths = total.unsqueeze(2) + self.transitions + logits[:, t].unsqueeze(1)
            longer = paths.logsumexp(dim=1)
            total = longer if mask is None else torch.where(mask[:, t].unsqueeze(1), longer, total)
        return (total + self.end_transitions).logsumexp(dim=1)

    def score(
        self, logits: torch.Tensor, tags: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """
        # Parameters

        logits : `torch.Tensor`, `(batch, tokens, tags)`
        tags : `torch.LongTensor`, `(batch, samples, tokens)`
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional

        # Returns

        `torch.Tensor`, `(batch, samples)`: the score of each path.
        """
        if mask is None:
            mask = torch.ones(logits.shape[:2], dtype=torch.bool, device=logits.device)
        # shape: (batch, samples, tokens)
        single = logits.gather(2, tags.transpose(1, 2)).transpose(1, 2) * mask.unsqueeze(1)
        pairs = self.transitions[tags[:, :, :-1], tags[:, :, 1:]] * mask[:, 1:].unsqueeze(1)
        end = (mask.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, tags.shape[1], 1)
        last = tags.gather(2, end).squeeze(2)
        ends = self.start_transitions[tags[:, :, 0]] + self.end_transitions[last]
        return single.sum(dim=2) + pairs.sum(dim=2) + ends
