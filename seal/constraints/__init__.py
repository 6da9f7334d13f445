"""Rules about outputs that a user declares; they are not learned. Needs torch alone."""

from seal.constraints.constraint import Constraint, Outputs
from seal.constraints.counts import AtLeastOne, AtMostOne, Count, ExactlyOne
from seal.constraints.declared import Declared
from seal.constraints.forbidden_transitions import ForbiddenTransitions
from seal.constraints.implication import Implication
