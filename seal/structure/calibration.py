"""Calibration of `q(y|x)`: makes the probability of an output the rate at which such outputs are gold."""

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy
import torch
from torch.nn import functional as F

# The grid of inverse temperatures on which the loss is computed, with a factor of sqrt(2) between neighbours. The best
# one is interpolated.
_INVERSE = tuple(2 ** (step / 2) for step in range(-8, 7))
# The standard deviation of the normal prior of the temperature's logarithm, which matters for few instances.
_DEVIATION = 0.5
# Log-odds are clipped to [-_MOST, _MOST].
_MOST = 14.0


@dataclass
class CalibrationData:
    """
    The data of instances with gold to which a calibration is fitted.

    # Parameters

    losses : `torch.Tensor`, `(instances, temperatures)`
        `-log q(gold|x)` at each temperature of a grid, in nats; 0 where gold is not a candidate.
    features : `torch.Tensor`, `(instances, 3)`
        The features `features_of`.
    competes : `torch.BoolTensor`, `(instances,)`
        Whether gold is among the candidates of a finite score.
    likeliest : `torch.Tensor`, `(instances, temperatures)`
        The log-odds of `max_k q(y_k|x)` at each temperature of the grid.
    is_likeliest : `torch.BoolTensor`, `(instances,)`
        Whether gold is the candidate of the largest score.
    """

    losses: torch.Tensor
    features: torch.Tensor
    competes: torch.Tensor
    likeliest: torch.Tensor
    is_likeliest: torch.Tensor

    @classmethod
    def of(cls, score: torch.Tensor, log_prob: torch.Tensor, gold: torch.Tensor) -> "CalibrationData":
        """
        # Parameters

        score, log_prob : as for `Calibration.log_probabilities`
        gold : `torch.LongTensor`, `(batch,)`
            The index of gold, -1 where it is not among the candidates.
        """
        place = gold.clamp(min=0).unsqueeze(1)
        gold_score = score.gather(1, place)
        competes = (gold >= 0) & gold_score.squeeze(1).isfinite()
        rows = competes.nonzero().squeeze(1)
        losses, likeliest = torch.zeros(2, len(score), len(_INVERSE), dtype=torch.double)
        features, is_likeliest = features_of(score, log_prob), competes & (score.argmax(dim=1) == gold)
        score, gold_score = score.double(), gold_score[rows].squeeze(1).double()
        largest = score.amax(dim=1)
        for number, inverse in enumerate(_INVERSE):
            log_sum = (inverse * score).logsumexp(dim=1)
            losses[rows.cpu(), number] = (log_sum[rows] - inverse * gold_score).cpu()
            likeliest[:, number] = _log_odds((inverse * largest - log_sum).exp()).cpu()
        return cls(losses, features.cpu(), competes.cpu(), likeliest, is_likeliest.cpu())

    @classmethod
    def joined(cls, parts: "Sequence[CalibrationData]") -> "CalibrationData":
        """The instances of all parts."""
        return cls(*(torch.cat([getattr(part, each.name) for part in parts]) for each in fields(cls)))


def features_of(score: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
    """
    The features from which `Calibration` predicts that gold is among the candidates, `(batch, 3)`: 1, the log-odds of
    `sum_k P(y_k|x)`, and the log-odds of `max_k q(y_k|x)`. Parameters as for `Calibration.log_probabilities`.
    """
    mass, score = _mass(score, log_prob), score.double()
    likeliest = (score.amax(dim=1) - score.logsumexp(dim=1)).exp()
    return torch.stack([torch.ones_like(mass), _log_odds(mass), _log_odds(likeliest)], dim=1)


def _log_odds(probability: torch.Tensor) -> torch.Tensor:
    """The log-odds of probabilities, clipped at `_MOST`; a sum that rounding has brought above 1 gives `_MOST`."""
    return torch.logit(probability, eps=math.exp(-_MOST))


def _mass(score: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
    """`sum_k P(y_k|x)` over the candidates with a finite score, `(batch,)`."""
    return log_prob.double().masked_fill(score.isneginf(), -torch.inf).exp().sum(dim=1)


@dataclass
class Calibration:
    """
    A calibrated distribution over all outputs: the joint score ranks the candidates `y_k`, and the task-net gives the
    other outputs.

    `P(y|x) = r(x) softmax_k(score(x, y_k) / T)_y` if `y` is a candidate,

    `P(y|x) = (1 - r(x)) P(y|x; task-net) / (1 - sum_k P(y_k|x; task-net))` if it is not,

    `r(x) = sigmoid(w_0 + w_1 logit sum_k P(y_k|x; task-net) + w_2 logit max_k q(y_k|x))`.

    `r(x)` is the probability that gold is a candidate, and `q` is the softmax of the joint score. After this step the
    likeliest candidate `y_1` has a probability `p`, which becomes

    `P(y_1|x) = sigmoid(v_0 + v_1 logit p)`

    (Platt, 1999, "Probabilistic outputs for support vector machines"), or the least value that keeps `y_1` the
    likeliest candidate. The probabilities of all other outputs are scaled by one factor to sum to the rest.

    The temperature `T` (Guo et al., 2017, "On calibration of modern neural networks") and the coefficients `w` and `v`
    maximise the likelihood of held-out data, from which neither the task-net nor the energies have learned.

    # Parameters

    temperature : `float`
        Above 0.
    weights : `list[float]`
        `w`. Calibrations of earlier versions have no `w_2`.
    likeliest : `list[float]`, optional
        `v`. Calibrations of earlier versions have none, and `P(y_1|x)` is `p`.
    """

    temperature: float
    weights: list[float]
    likeliest: list[float] | None = None

    @classmethod
    def fit(cls, observed: CalibrationData) -> "Calibration":
        """
        The calibration of the largest likelihood, under weak priors; a few hundred instances are enough. The parameters
        are fitted one after the other: `w`, then `T`, then `v`.
        """
        weights = logistic(observed.features, observed.competes.double())
        temperature = _temperature(observed.losses.sum(dim=0))
        share = (observed.features @ weights).sigmoid()
        log_odds = _log_odds(share * _at(1 / temperature, observed.likeliest).sigmoid())
        features = torch.stack([torch.ones_like(log_odds), log_odds], dim=1)
        likeliest = logistic(features, observed.is_likeliest.double(), torch.tensor([0.0, 1.0]))
        return cls(temperature, weights.tolist(), likeliest.tolist())

    def log_probabilities(self, score: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
        """
        `log P(y|x)` of the candidates, in nats: `(batch, candidates)`, of double precision.

        # Parameters

        score : `torch.Tensor`, `(batch, candidates)`
            The joint score, `-inf` for fillers and for outputs that a rule excludes; these do not count as candidates.
        log_prob : `torch.Tensor`, `(batch, candidates)`
            `log P(y|x)` under the task-net, in nats; `-inf` for fillers.
        """
        candidates, others = self._both(score, log_prob, log_prob)
        return torch.where(score.isneginf(), others, candidates)

    def log_probability_of_others(
        self, score: torch.Tensor, log_prob: torch.Tensor, others: torch.Tensor
    ) -> torch.Tensor:
        """
        `log P(y|x)` of outputs that are not candidates, in nats: `(batch, n)`, of double precision.

        # Parameters

        score, log_prob : as for `log_probabilities`
        others : `torch.Tensor`, `(batch, n)`
            The log-probabilities of these outputs under the task-net, in nats.
        """
        return self._both(score, log_prob, others)[1]

    def _both(
        self, score: torch.Tensor, log_prob: torch.Tensor, others: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`log P(y|x)` of the candidates and of other outputs; parameters as for `log_probability_of_others`."""
        features = features_of(score, log_prob)[:, : len(self.weights)]
        share = (features @ features.new_tensor(self.weights)).unsqueeze(1)
        rest = (1 - _mass(score, log_prob)).unsqueeze(1).clamp(min=1e-300).log()
        inside = (score.double() / self.temperature).log_softmax(dim=1) + F.logsigmoid(share)
        outside = F.logsigmoid(-share) + (others.double() - rest).clamp(max=0)
        if self.likeliest is not None:
            first, change = self._of_likeliest(inside, self.likeliest)
            inside = (inside + change).scatter(1, inside.argmax(dim=1, keepdim=True), first)
            outside = outside + change
        return inside, outside

    @staticmethod
    def _of_likeliest(inside: torch.Tensor, weights: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
        """`log P(y_1|x)`, and the change of the log-probability of all other outputs; `(batch, 1)` each."""
        top_two = inside.topk(min(2, inside.shape[1]), dim=1).values.exp()
        p, second = top_two[:, :1], top_two[:, 1:].sum(dim=1, keepdim=True)
        rest = (1 - p).clamp(min=math.exp(-_MOST))
        calibrated = (weights[0] + weights[1] * _log_odds(p)).sigmoid()
        # With less the second candidate would be likelier.
        calibrated = calibrated.maximum(second / (rest + second))
        return calibrated.log(), (1 - calibrated).log() - rest.log()

    def state(self) -> dict[str, Any]:
        """The arguments of `Calibration`, plain values."""
        return {"temperature": self.temperature, "weights": self.weights, "likeliest": self.likeliest}


def _temperature(losses: torch.Tensor) -> float:
    """The temperature of the least loss plus prior; `losses (temperatures,)` are sums over instances on the grid."""
    log_inverse = numpy.log(_INVERSE)
    sums = losses.numpy() + log_inverse**2 / (2 * _DEVIATION**2)
    first = min(max(int(sums.argmin()) - 2, 0), len(log_inverse) - 5)
    near, values = log_inverse[first : first + 5], sums[first : first + 5]
    # The minimum of the polynomial of degree 4 through the five grid points around the least value.
    fine = numpy.linspace(near[0], near[-1], 1001)
    curve = numpy.polyval(numpy.polyfit(near - near[2], values - values.min(), 4), fine - near[2])
    return float(numpy.exp(-fine[curve.argmin()]))


def _at(inverse: float, values: torch.Tensor) -> torch.Tensor:
    """
    Interpolates `values (instances, temperatures)` at an inverse temperature: `(instances,)`. Linear between the two
    nearest grid points, which is exact for the log-odds of two candidates.
    """
    place = min(max(bisect(_INVERSE, inverse), 1), len(_INVERSE) - 1)
    before, after = _INVERSE[place - 1 : place + 1]
    return torch.lerp(values[:, place - 1], values[:, place], (inverse - before) / (after - before))


def logistic(
    features: torch.Tensor, targets: torch.Tensor, center: torch.Tensor | None = None, steps: int = 50
) -> torch.Tensor:
    """
    Logistic regression: the coefficients `w` of `P(1|f) = sigmoid(w . f)`, `(features,)`, by Newton's method, under
    Gaussian priors of variance 1, and 10 for the first coefficient.

    # Parameters

    features : `torch.Tensor`, `(instances, features)`
        The first feature is 1.
    targets : `torch.Tensor`, `(instances,)`, 0 to 1
    center : `torch.Tensor`, `(features,)`, optional (default = 0)
        The mean of the priors.
    steps : `int`, optional (default = `50`)
        The most steps.
    """
    prior = torch.ones(features.shape[1], dtype=features.dtype)
    prior[0] = 0.1
    center = torch.zeros_like(prior) if center is None else center.to(prior)
    weights = center

    def loss_of(weights: torch.Tensor) -> float:
        logits = features @ weights
        penalty = (prior * (weights - center).square()).sum() / 2
        return float((F.softplus(logits) - targets * logits).sum() + penalty)

    loss = loss_of(weights)
    for _ in range(steps):
        probability = (features @ weights).sigmoid()
        gradient = features.T @ (probability - targets) + prior * (weights - center)
        curvature = (features * (probability * (1 - probability)).unsqueeze(1)).T @ features + prior.diag()
        step, size = torch.linalg.solve(curvature, gradient), 1.0
        while size > 1e-6 and loss_of(weights - size * step) > loss:
            size /= 2
        weights = weights - size * step
        before, loss = loss, loss_of(weights)
        if before - loss < 1e-9 * max(1.0, abs(loss)):
            break
    return weights
