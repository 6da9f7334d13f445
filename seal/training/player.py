from typing import Optional

from allennlp.common import FromParams, Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.optimizers import Optimizer

TASK_NET, LOSS_NET, BOTH = "task_net", "loss_net", "both"


class Player(FromParams):
    """
    How one player, the task-net or the loss-net, is updated.

    # Parameters

    optimizer : `Optimizer`, optional (default = AdamW with learning rate 0.001)
    learning_rate_scheduler : `LearningRateScheduler`, optional (default = `None`)
    grad_norm : `float`, optional (default = `None`)
        The player's gradient is scaled down to this norm where it is longer.
    steps : `int`, optional (default = `1`)
        Updates a batch. 0 freezes the player.
    """

    def __init__(
        self,
        optimizer: Lazy[Optimizer] = Lazy(
            lambda model_parameters: Optimizer.by_name("fused_adamw")(model_parameters)
        ),
        learning_rate_scheduler: Optional[Lazy[LearningRateScheduler]] = None,
        grad_norm: Optional[float] = None,
        steps: int = 1,
    ) -> None:
        if steps < 0:
            raise ConfigurationError(f"trainer: a player's steps must be at least 0, not {steps}.")
        if grad_norm is not None and grad_norm <= 0:
            raise ConfigurationError(f"trainer: a player's grad_norm must be above 0, not {grad_norm}.")
        self.optimizer = optimizer
        self.learning_rate_scheduler = learning_rate_scheduler
        self.grad_norm = grad_norm
        self.steps = steps


class Warmup(FromParams):
    """
    The first epochs, in which the task-net does not follow the energy yet.

    # Parameters

    epochs : `int`
    player : `str`, optional (default = `"both"`)
        Who is trained. `"both"`: the task-net by cross-entropy alone, and the loss-net on its outputs, so
        that the energy is worth following when its weight sets in. `"task_net"`: the task-net alone, by
        cross-entropy. `"loss_net"`: the loss-net alone, against a task-net that stays as it is.
    """

    def __init__(self, epochs: int, player: str = BOTH) -> None:
        if player not in (TASK_NET, LOSS_NET, BOTH) or epochs < 0:
            raise ConfigurationError(
                f"trainer.warmup: player must be '{BOTH}', '{TASK_NET}' or '{LOSS_NET}', not '{player}', and "
                f"epochs at least 0, not {epochs}."
            )
        self.epochs = epochs
        self.player = player
