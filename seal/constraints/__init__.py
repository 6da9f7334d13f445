"""Constraints: rules about outputs that a user declares. The only dependency is torch."""

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
