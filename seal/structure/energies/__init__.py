"""Energies of whole outputs, each with few parameters and in a file of its own."""

from seal.structure.energies.at_most_once import AtMostOnce
from seal.structure.energies.key_roles import KeyRoles
from seal.structure.energies.label_pairs import LabelPairs
from seal.structure.energies.label_scores import LabelScores
from seal.structure.energies.powerset import Powerset
from seal.structure.energies.role_counts import RoleCounts
from seal.structure.energies.role_ngrams import RoleNgrams
from seal.structure.energies.role_sets import RoleSets
from seal.structure.energies.role_trigrams import RoleTrigrams
from seal.structure.energies.set_count import SetCount
from seal.structure.energies.set_size import SetSize
from seal.structure.energies.span_context import SpanContext
from seal.structure.energies.span_counts import SpanCounts
from seal.structure.energies.token_scores import TokenScores
from seal.structure.energies.tree_attachments import TreeAttachments
from seal.structure.energies.tree_energy import CountedTreeEnergy, TreeEnergy
from seal.structure.energies.tree_rules import TreeRules

__all__ = [
    "AtMostOnce",
    "CountedTreeEnergy",
    "KeyRoles",
    "SpanCounts",
    "LabelPairs",
    "LabelScores",
    "Powerset",
    "RoleCounts",
    "RoleNgrams",
    "RoleSets",
    "RoleTrigrams",
    "SetCount",
    "SetSize",
    "SpanContext",
    "TokenScores",
    "TreeAttachments",
    "TreeEnergy",
    "TreeRules",
]
