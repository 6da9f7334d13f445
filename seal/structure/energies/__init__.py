"""Energies of whole outputs, each with few parameters."""

from seal.structure.energies.labels import LabelPairs, LabelScores, Powerset, SetCount, SetSize
from seal.structure.energies.roles import KeyRoles, RoleCounts, RoleNgrams, RoleSets, RoleTrigrams
from seal.structure.energies.span_context import SpanContext
from seal.structure.energies.span_counts import SpanCounts
from seal.structure.energies.token_scores import TokenScores
from seal.structure.energies.trees import CountedTreeEnergy, TreeAttachments, TreeEnergy, TreeRules
