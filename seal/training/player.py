from typing import Optional

from allennlp.common import FromParams, Lazy
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.optimizers import Optimizer

from seal.two_player import LOSS_NET, TASK_NET

__all__ = ["LOSS_NET", "TASK_NET", "Player"]


class Player(FromParams):
    """
    How one player, the task-net or the loss-net, is updated.

    # Parameters

    optimizer : `Optimizer`, optional (default = AdamW with learning rate 0.001)
    learning_rate_scheduler : `LearningRateScheduler`, optional (default = `None`)
    grad_norm : `float`, optional (default = `None`)
        The player's gradient is scaled down to this norm where it is longer.
    steps : `int`, optional (default = `1`)
        The number of updates per batch, all on that batch unless the trainer's `fresh_batches` is set. 0 freezes the
        player.
    """

    def __init__(
        self,
        optimizer: Lazy[Optimizer] = Lazy(lambda model_parameters: Optimizer.by_name("fused_adamw")(model_parameters)),
        learning_rate_scheduler: Optional[Lazy[LearningRateScheduler]] = None,
        grad_norm: Optional[float] = None,
        steps: int = 1,
    ) -> None:
        self.optimizer = optimizer
        self.learning_rate_scheduler = learning_rate_scheduler
        self.grad_norm = grad_norm
        self.steps = steps
