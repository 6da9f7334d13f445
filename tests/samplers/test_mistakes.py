"""A wrong setting, or a wrong value, is named."""

from functools import partial

import pytest
import torch

from seal.output_spaces import Candidates
from seal.registry import ConfigurationError
from seal.samplers import (
    CorrelatedDraws,
    DiscreteSampler,
    GaussianPerturbation,
    GradientBasedInference,
    Reranking,
    RewardSearch,
    SamplingProblem,
    SmoothPerturbation,
    StackedSampler,
    check_through,
    with_gradient,
)
from seal.samplers.gradient_based_inference import ElementwiseOptimizer
from seal.scores import L1Cost, SoftF1
from tests.label_sets import label_set, problem_of

LABELS = SamplingProblem(torch.zeros(1, 3), torch.zeros(1, 3), None, label_set(3))
OPTIMIZERS = [
    ("lbfgs", "^here: optimizer .*'lbfgs'"),
    ({"momentum": 0.9}, "^here: optimizer"),
    ({"type": ["sgd"]}, "^here: optimizer"),
    (3, "^here: optimizer .*3"),
    ({"type": "sgd", "mom": 1}, "optimizer.mom .*'sgd'"),
    ({"type": "sgd", "lr": 1.0}, "optimizer.lr .*'sgd'"),
    ({"type": "adam", "betas": [2, 3]}, "optimizer .*'adam'.*beta"),
    ({"type": "sgd", "momentum": "a"}, "optimizer .*'sgd'"),
]
INFERENCE = [
    ({"space": "sphere"}, "space.*'sphere'"),
    ({"start": "one"}, "start"),
    ({"optimizer": "lbfgs"}, "optimizer.*'lbfgs'"),
    ({"objective": "score"}, "objective"),
    ({"keep": "all"}, "keep"),
    ({"num_steps": 0}, "num_steps"),
    ({"step_size": 0.0}, "step_size"),
    ({"tolerance": -1.0}, "tolerance"),
    ({"restarts": 2}, "restarts.*'zeros'"),
    ({"restarts": 0, "start": "random"}, "restarts"),
    ({"cost": L1Cost()}, "cost"),
    ({"score": SoftF1(), "objective": "cost_augmented"}, "score"),
]


def attached(*sources, through="straight_through"):
    candidates = Candidates(torch.zeros(1, len(sources), 3), sources=sources)
    return with_gradient(candidates, torch.zeros(1, 3), label_set(3), through=through)


@pytest.mark.parametrize(
    "make, named",
    [
        (partial(CorrelatedDraws, num_samples=0), "num_samples"),
        (partial(CorrelatedDraws, num_fields=0), "num_fields"),
        (partial(CorrelatedDraws, std=-1.0), "std"),
        (partial(CorrelatedDraws, temperature=0.0), "temperature"),
        (lambda: CorrelatedDraws()(LABELS), "'correlated_draws'"),
        (partial(DiscreteSampler, 0), "sampler.num_samples"),
        *((partial(ElementwiseOptimizer, given, 0.1, "here"), named) for given, named in OPTIMIZERS),
        *((partial(GradientBasedInference, **given), named) for given, named in INFERENCE),
        (lambda: GradientBasedInference()(problem_of(None)), "loss_net"),
        (partial(attached, "task_net", "cost_augmented_net", through="relaxed"), "'relaxed'"),
        (partial(attached, "task_net", "cost_augmented_net", through="soft"), "'soft'"),
        (partial(attached, "constant"), "candidates"),
        (partial(check_through, "hard"), "through.*'hard'"),
        (partial(GaussianPerturbation, space="logits"), "sampler.space.*'logits'"),
        (partial(GaussianPerturbation, num_samples=0), "sampler.num_samples"),
        (partial(GaussianPerturbation, std=0.0), "sampler.std"),
        (partial(SmoothPerturbation, std=0.0), "sampler.std"),
        (partial(SmoothPerturbation, width=-1.0), "sampler.width"),
        (lambda: SmoothPerturbation()(LABELS), "'smooth_perturbation'.*LabelSet"),
        (partial(Reranking, 0), "num_samples"),
        (partial(Reranking, 3, -1.0), "log_prob_weight"),
        (lambda: Reranking()(LABELS), "loss_net"),
        (partial(RewardSearch, rounds=-1), "rounds"),
        (partial(RewardSearch, flips=0), "flips"),
        (partial(StackedSampler, []), "sampler.samplers"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
