"""
Where the loss-net's candidates come from, which it learns to tell from gold: draws, searches, networks, and stacks of
these.
"""

from seal.samplers.correlated_draws import CorrelatedDraws
from seal.samplers.discrete import DiscreteSampler
from seal.samplers.gradient_based_inference import GradientBasedInference
from seal.samplers.gradient_paths import THROUGH, check_new_candidates, check_through, with_gradient
from seal.samplers.perturbation import GaussianPerturbation, SmoothPerturbation
from seal.samplers.reranking import Reranking
from seal.samplers.reward_search import RewardSearch
from seal.samplers.sampler import (
    CostAugmentedOutputSampler,
    GoldSampler,
    Sampler,
    SamplingProblem,
    StackedSampler,
    TaskNetOutputSampler,
)
