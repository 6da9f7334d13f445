"""
Where the loss-net's candidates come from, which it learns to tell from gold: draws, searches, networks, and stacks of
these.
"""

from seal.samplers.correlated_draws import CorrelatedDraws
from seal.samplers.cost_augmented_output import CostAugmentedOutputSampler
from seal.samplers.discrete import DiscreteSampler
from seal.samplers.gaussian import GaussianPerturbation
from seal.samplers.gold import GoldSampler
from seal.samplers.gradient_based_inference import GradientBasedInference
from seal.samplers.gradient_paths import THROUGH, check_new_candidates, check_through, with_gradient
from seal.samplers.reward_search import RewardSearch
from seal.samplers.sampler import Sampler, SamplingProblem
from seal.samplers.smooth_perturbation import SmoothPerturbation
from seal.samplers.stack import StackedSampler
from seal.samplers.task_net_output import TaskNetOutputSampler
