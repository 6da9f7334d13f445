import torch

from seal.common.setting_checks import check_range
from seal.registry import Registrable

#: Which of a batch's instances.
Rows = torch.Tensor | slice


class Decision(Registrable):
    """How one output is chosen among those that compete."""

    #: Its name in reports.
    name: str

    def choose(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        """
        # Parameters

        probabilities : `torch.Tensor`, `(batch, candidates)`
            `q(y|x)`.
        similarity : `Callable[[torch.Tensor, torch.Tensor | slice], torch.Tensor]`
            Given indices of candidates `(rows, some)`, and of which instances these are, `(rows,)`: the score, 0 to 1,
            of each of them as a prediction where each of them is gold, `(rows, some predicted, some gold)`.

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
    `argmax_y sum_y' q(y'|x) score(y, y')`: the candidate of the best expected score, such as F1 (minimum Bayes risk),
    among those that are likely enough. Any candidate is possible gold; but one of hardly any probability hedges between
    others, and breaks rules that all of these keep.

    # Parameters

    least : `float`, optional (default = `0.1`)
        From 0 to 1: a predicted candidate has at least this share of the likeliest one's probability. At 1 the
        likeliest one is predicted.
    """

    name = "expected_score"

    def __init__(self, least: float = 0.1) -> None:
        check_range("structure.least", least, least=0, most=1)
        self.least = least

    def choose(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        chosen = probabilities.argmax(dim=1)
        # Where only the likeliest one is likely enough, which is mostly so, no score is asked for.
        rows = ((~self._left_out(probabilities)).sum(dim=1) > 1).nonzero().squeeze(1)
        if len(rows):
            expected = self.scores(probabilities[rows], similarity, rows)
            chosen[rows] = expected.nan_to_num(-1.0).argmax(dim=1)
        return chosen

    def scores(self, probabilities: torch.Tensor, similarity, rows: Rows = slice(None)) -> torch.Tensor:
        """
        The expected score of each candidate, `(batch, candidates)`, 0 to 1; NaN of those that are no prediction. As for
        `choose`.
        """
        # Fillers, which have no probability, are the last ones here.
        q, kept = probabilities.sort(dim=1, descending=True)
        there = max(int((q > 0).sum(dim=1).max()), 1)
        q, kept = q[:, :there], kept[:, :there]
        expected = torch.einsum("bpg,bg->bp", similarity(kept, rows).to(q), q)
        expected = self.within(q, expected)
        return torch.full_like(probabilities, torch.nan).scatter(1, kept, expected)

    def within(self, probabilities: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """`expected`, with NaN for the candidates that are not likely enough; all `(batch, candidates)`."""
        return expected.masked_fill(self._left_out(probabilities), torch.nan)

    def _left_out(self, probabilities: torch.Tensor) -> torch.Tensor:
        least = self.least * probabilities.amax(dim=1, keepdim=True)
        return (probabilities < least) | (probabilities == 0)
