"""Decisions: how one candidate is chosen from the probabilities `q(y|x)`."""

import torch

from seal.common.setting_checks import check_range
from seal.registry import Registrable

#: A selection of a batch's instances.
Rows = torch.Tensor | slice


class Decision(Registrable):
    """The base of decisions."""

    #: The name of the decision in reports.
    name: str

    def choose(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        """
        Chooses a candidate of each instance.

        # Parameters

        probabilities : `torch.Tensor`, `(batch, candidates)`
            `q(y|x)`.
        similarity : `Callable[[torch.Tensor, torch.Tensor | slice], torch.Tensor]`
            Takes indices of candidates, `(rows, n)`, and the instances that they belong to, `(rows,)`. Returns the
            score, 0 to 1, of each of these candidates as prediction with each of them as gold, `(rows, n, n)`.

        # Returns

        `torch.LongTensor`, `(batch,)`: the index of the chosen candidate
        """
        raise NotImplementedError


@Decision.register("likeliest")
class Likeliest(Decision):
    """`argmax_y q(y|x)`, which has the best expected rate of exact matches."""

    name = "likeliest"

    def choose(self, probabilities: torch.Tensor, similarity=None) -> torch.Tensor:
        return probabilities.argmax(dim=1)


@Decision.register("expected_score")
class ExpectedScore(Decision):
    """
    `argmax_y sum_y' q(y'|x) score(y, y')`: the candidate `y` of the best expected score, such as F1 (minimum Bayes
    risk). `y'` runs over all candidates, `y` over the likely ones only: an improbable `y` may hedge between probable
    ones, and break rules that all of these keep.

    # Parameters

    least : `float`, optional (default = `0.1`)
        0 to 1: `q(y|x)` of the prediction is at least this share of the likeliest candidate's. At 1 the likeliest
        candidate is predicted.
    """

    name = "expected_score"

    def __init__(self, least: float = 0.1) -> None:
        check_range("structure.least", least, least=0, most=1)
        self.least = least

    def choose(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        chosen = probabilities.argmax(dim=1)
        # Mostly only the likeliest candidate is likely enough, and no score is computed.
        rows = ((~self._left_out(probabilities)).sum(dim=1) > 1).nonzero().squeeze(1)
        if len(rows):
            expected = self.scores(probabilities[rows], similarity, rows)
            chosen[rows] = expected.nan_to_num(-1.0).argmax(dim=1)
        return chosen

    def scores(self, probabilities: torch.Tensor, similarity, rows: Rows = slice(None)) -> torch.Tensor:
        """
        The expected score of each candidate, `(batch, candidates)`, 0 to 1; NaN for candidates that are not likely
        enough. Parameters as for `choose`.
        """
        # Fillers have the probability 0 and come last.
        q, index = probabilities.sort(dim=1, descending=True)
        width = max(int((q > 0).sum(dim=1).max()), 1)
        q, index = q[:, :width], index[:, :width]
        expected = torch.einsum("bpg,bg->bp", similarity(index, rows).to(q), q)
        expected = self.within(q, expected)
        return torch.full_like(probabilities, torch.nan).scatter(1, index, expected)

    def within(self, probabilities: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """`expected`, with NaN for the candidates that are not likely enough; all `(batch, candidates)`."""
        return expected.masked_fill(self._left_out(probabilities), torch.nan)

    def _left_out(self, probabilities: torch.Tensor) -> torch.Tensor:
        least = self.least * probabilities.amax(dim=1, keepdim=True)
        return (probabilities < least) | (probabilities == 0)
