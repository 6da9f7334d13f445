"""
Structure in prediction: a small energy chooses among a few whole outputs that compete, and a test on validation data
decides how far to follow it. Needs torch alone.

For an input `x` with the task-net's log-probability `log P(y|x)`, the outputs `y` that compete (known label sets, the k
best paths of a chain) get the *joint score* `s log P(y|x) - E(y)`, and a softmax over them gives `q(y|x)`. The energy
`E` has tens to thousands of parameters and is learned by exact conditional likelihood on *held-out* scores, those of
nets that have not seen the instance. A *decision* makes one output of `q`; the *gate* chooses the decision on
validation data, and falls back to the task-net's own.
"""

from seal.structure import energies
from seal.structure.candidate_structure import CandidateStructure
from seal.structure.decisions import Decision, ExpectedScore, Likeliest
from seal.structure.gate import Verdict, gate
from seal.structure.joint_score import CandidateBatch, CandidateEnergy, JointScore, LinearEnergy
from seal.structure.label_set_structure import LabelSetStructure
from seal.structure.label_sets import ClassifierScores, LabelSetCandidates, known_sets
from seal.structure.scores import LABEL_SET_SCORES, Ratio
from seal.structure.structure import Structure
from seal.structure.tag_sequences import TagCandidates, TagScheme
from seal.structure.tag_structure import TagPaths, TagStructure
from seal.structure.tree_structure import KBestTrees, TreeStructure
from seal.structure.trees import TreeCandidates
