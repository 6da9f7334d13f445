import torch

from seal.registry import Registrable


class Decision(Registrable):
    """How one output is chosen among those that compete."""

    #: Its name in reports.
    name: str

    def choose(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        """
        # Parameters

        probabilities : `torch.Tensor`, `(batch, candidates)`
            `q(y|x)`.
        similarity : `Callable[[torch.Tensor], torch.Tensor]`
            Given indices of candidates `(batch, some)`, the score, 0 to 1, of each of these as a prediction where each
            of them is gold: `(batch, some predicted, some gold)`.

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
    `argmax_y sum_y' q(y'|x) score(y, y')`: the candidate of the best expected score, such as F1 (minimum Bayes risk).

    # Parameters

    most : `int`, optional (default = `32`)
        Only so many candidates, the likeliest ones, are predictions and possible gold.
    """

    name = "expected_score"

    def __init__(self, most: int = 32) -> None:
        self.most = most

    def choose(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        kept, expected = self._expected(probabilities, similarity)
        # A filler has no probability, and must not be chosen by a tie.
        return kept.gather(1, expected.nan_to_num(-1.0).argmax(dim=1, keepdim=True)).squeeze(1)

    def scores(self, probabilities: torch.Tensor, similarity) -> torch.Tensor:
        """
        The expected score of each candidate, `(batch, candidates)`, 0 to 1; NaN of those that are no prediction. As for
        `choose`.
        """
        kept, expected = self._expected(probabilities, similarity)
        return torch.full_like(probabilities, torch.nan).scatter(1, kept, expected)

    def _expected(self, probabilities: torch.Tensor, similarity) -> tuple[torch.Tensor, torch.Tensor]:
        """The likeliest candidates and the expected score of each, NaN of fillers."""
        q, kept = probabilities.topk(min(self.most, probabilities.shape[1]), dim=1)
        expected = torch.einsum("bpg,bg->bp", similarity(kept).to(q), q)
        return kept, expected.masked_fill(q == 0, torch.nan)
