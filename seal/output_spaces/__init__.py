"""Output spaces: how outputs of each type are relaxed, sampled, scored and decoded."""

from seal.output_spaces.binary_variables import BinaryMask, BinaryVariables, LabelSet
from seal.output_spaces.chain import Chain
from seal.output_spaces.chain_tag_sequence import ChainTagSequence, CrfTagSequence, LegalTagSequence
from seal.output_spaces.linear_tree import LinearTree, TreePrefixes
from seal.output_spaces.output_space import (
    CONSTANT,
    COST_AUGMENTED_NET,
    TASK_NET,
    Candidates,
    OutputSpace,
    OverOutputs,
    RewardedCandidates,
)
from seal.output_spaces.tag_sequence import TagSequence
