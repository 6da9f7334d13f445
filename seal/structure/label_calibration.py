"""`LabelCalibration`, which turns structured marginals of labels into calibrated probabilities."""

import math
from dataclasses import dataclass

import torch

from seal.structure.calibration import logistic

# Log-odds are clipped to [-_MOST, _MOST].
_MOST = 12.0
#: About so many labels of random rows are enough to fit three coefficients.
MOST_LABELS = 2**20


@dataclass
class LabelCalibration:
    """
    The probability that a label is gold, `sigmoid(w_0 + w_1 logit m_l + w_2 z_l)`, from its structured marginal `m_l`
    and the task-net's log-odds `z_l`.

    # Parameters

    weights : `list[float]`
        `w`, the same for all labels.
    """

    weights: list[float]

    @classmethod
    def fit(cls, logits: torch.Tensor, marginals: torch.Tensor, gold: torch.Tensor) -> "LabelCalibration":
        """
        The weights of the largest likelihood on rows with gold, all `(rows, labels)`: the task-net's log-odds, the
        structured marginals, and gold, 0 or 1.
        """
        rows = torch.randperm(len(gold), generator=torch.Generator().manual_seed(0))
        rows = rows[: max(MOST_LABELS // gold.shape[1], 1)]
        features = _features(logits[rows], marginals[rows])
        return cls(logistic(features.flatten(0, 1).cpu(), gold[rows].flatten().double().cpu()).tolist())

    def probabilities(self, logits: torch.Tensor, marginals: torch.Tensor) -> torch.Tensor:
        """The calibrated probabilities, 0 to 1; arguments and result are `(rows, labels)`."""
        features = _features(logits, marginals)
        return (features @ features.new_tensor(self.weights)).sigmoid().to(logits)


def _features(logits: torch.Tensor, marginals: torch.Tensor) -> torch.Tensor:
    """1, the log-odds of the marginal, and the task-net's log-odds, clipped at `_MOST`: `(rows, labels, 3)`."""
    marginal_logits = torch.logit(marginals.double(), eps=1 / (1 + math.exp(_MOST)))
    task_net_logits = logits.double().clamp(-_MOST, _MOST)
    return torch.stack([torch.ones_like(marginal_logits), marginal_logits, task_net_logits], dim=-1)
