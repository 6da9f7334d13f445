"""
Samplers, which generate the loss-net's candidates: draws, searches, outputs of networks, and combinations of these. The
loss-net learns to tell the candidates from gold.
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
