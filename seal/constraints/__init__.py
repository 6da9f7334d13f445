"""Rules about outputs that a user declares; they are not learned. Needs torch alone."""

from seal.constraints.constraint import (
    AtLeastOne,
    AtMostOne,
    Constraint,
    Count,
    ExactlyOne,
    ForbiddenTransitions,
    Implication,
    Outputs,
)
from seal.constraints.declared import Declared
