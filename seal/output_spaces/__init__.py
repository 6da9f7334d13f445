"""What an output is: how it is relaxed, sampled, scored and decoded. Candidates are outputs of one instance."""

from seal.output_spaces.binary_mask import BinaryMask
from seal.output_spaces.binary_variables import BinaryVariables
from seal.output_spaces.candidates import CONSTANT, COST_AUGMENTED_NET, TASK_NET, Candidates, RewardedCandidates
from seal.output_spaces.chain import Chain, DensePairs, LegalPairs
from seal.output_spaces.chain_tag_sequence import ChainTagSequence
from seal.output_spaces.crf_tag_sequence import CrfTagSequence
from seal.output_spaces.label_set import LabelSet
from seal.output_spaces.legal_tag_sequence import LegalTagSequence
from seal.output_spaces.linear_tree import LinearTree, TreePrefixes
from seal.output_spaces.output_space import OutputSpace, OverOutputs
from seal.output_spaces.tag_sequence import TagSequence
