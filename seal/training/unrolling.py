from dataclasses import dataclass
from typing import Optional

from allennlp.common import FromParams

from seal.common.setting_checks import check_range


@dataclass
class Unrolling(FromParams):
    """
    How far the inner loop is unrolled in the place of an implicit gradient.

    # Parameters

    num_steps : `int`
        The steps of gradient descent on the task loss, on one batch; at least 1.
    step_size : `float`
        Above 0.
    backward_steps : `int`, optional
        How many of the last steps are differentiated; `None`: all.

    # Raises

    `ConfigurationError` for a number outside these ranges.
    """

    num_steps: int
    step_size: float
    backward_steps: Optional[int] = None

    def __post_init__(self) -> None:
        check_range("trainer.unroll.num_steps", self.num_steps, least=1)
        check_range("trainer.unroll.step_size", self.step_size, above=0)
        check_range("trainer.unroll.backward_steps", self.backward_steps, least=1)
