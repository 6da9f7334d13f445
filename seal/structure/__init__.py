"""
Reranking of whole outputs: a small energy chooses among a task-net's candidates, and a test on validation data decides
whether to follow it. The only dependency is torch.

Let `log P(y|x)` be the task-net's log-probability of an output `y`. The *candidates* for an input `x` (known label
sets, a k-best list of tag sequences or trees) get the *joint score* `s log P(y|x) - E(x, y)`, and a softmax over them
gives `q(y|x)`. The energy `E` has tens to thousands of parameters. It is learned by exact conditional likelihood on
*held-out* scores, which come from nets that have not seen the instance. A *decision* chooses one candidate from `q`.
The *gate* chooses the decision on validation data, or the task-net's own output.
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
from seal.structure.tag_paths import TagPaths
from seal.structure.tag_sequences import TagCandidates, TagScheme
from seal.structure.tag_structure import TagStructure
from seal.structure.tree_structure import KBestTrees, TreeStructure
from seal.structure.trees import TreeCandidates
