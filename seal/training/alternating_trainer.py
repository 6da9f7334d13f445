from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, TensorDict
from allennlp.nn.parallel import DdpAccelerator
from allennlp.training import Checkpointer, GradientDescentTrainer, Trainer, TrainerCallback
from allennlp.training.moving_average import MovingAverage
from allennlp.training.trainer import TrainerCheckpoint
from torch.nn.utils import clip_grad_norm_

from seal.models import SealModel
from seal.training.checkpointer import ResumableCheckpointer
from seal.training.micro_batches import GroupedLoader, MicroBatch, micro_batches
from seal.training.player import LOSS_NET, TASK_NET, Player, Warmup
from seal.training.random_streams import (
    RandomStream,
    python_state,
    set_python_state,
    set_torch_state,
    torch_state,
)
from seal.training.replicas import ReplicaAccelerator, average_gradients
from seal.training.two_player import TwoPlayerOptimizer, TwoPlayerScheduler


class NonFiniteLoss(RuntimeError):
    """A player's loss is no longer a number."""


@Trainer.register("alternating", constructor="from_partial_objects")
class AlternatingTrainer(GradientDescentTrainer):
    """
    Trains task-net and loss-net in turns (SEAL, NeurIPS 2022, Eq. 4-5; ICLR 2022 submission, Algorithm 1; SE8). For
    each batch, with the default order:

        S       = candidates from the task-net as it is
        Theta_t = `loss_net.steps` updates of the loss-net by L_E on S and gold
        Phi_t   = `task_net.steps` updates of the task-net by L_F under Theta_t

    One pass of the task-net serves both where its parameters have not changed in between. SEAL-static is
    `loss_net.steps = 0` with a trained loss-net; a model without a loss-net is trained by cross-entropy.

    The epoch loop, validation, early stopping, callbacks, progress bar and mixed precision are AllenNLP's. The last
    update of a batch runs through that loop, the ones before it inside `batch_outputs`. Beyond AllenNLP's trainer a
    run recovers to the same result, bit for bit on CPU: torch's random state is part of a checkpoint.

    # Parameters

    As AllenNLP's `gradient_descent`, except that these take the place of `optimizer`, `learning_rate_scheduler` and
    `grad_norm`:

    task_net, loss_net : `Player`, optional
        Optimizer, learning-rate scheduler, gradient norm and steps of each.
    first : `str`, optional (default = `"loss_net"`)
        Who moves first in a batch.
    warmup : `Warmup`, optional (default = `None`)
        Epochs at the start in which one player trains alone.
    num_gradient_accumulation_steps : `int`, optional (default = `1`)
        Batches that make one update. Both players see all of them before the second moves.
    """

    def __init__(
        self,
        model: SealModel,
        optimizer: TwoPlayerOptimizer,
        data_loader: DataLoader,
        *,
        turns: List[str],
        grad_norms: Dict[str, Optional[float]],
        warmup: Optional[Warmup] = None,
        num_gradient_accumulation_steps: int = 1,
        **settings: Any,
    ) -> None:
        if num_gradient_accumulation_steps > 1:
            data_loader = GroupedLoader(data_loader, num_gradient_accumulation_steps)
        super().__init__(model, optimizer, data_loader, **settings)
        self._turns = turns
        self._grad_norms = grad_norms
        self._warmup = warmup
        self._loss_net_stream = RandomStream(torch.initial_seed() + 1)
        # The generators that order the data, as they were before the epoch's first batch.
        self._epoch_random: Optional[Dict[str, Any]] = None
        self._recovered: Optional[Dict[str, Any]] = None

    # The step.

    def batch_outputs(self, batch: TensorDict, for_training: bool) -> Dict[str, torch.Tensor]:
        if not for_training:
            return super().batch_outputs(batch, for_training=False)
        if self._recovered is not None:
            # The data loader has caught up with the checkpoint: from here on the run is the one that was killed.
            set_torch_state(self._recovered["torch"])
            self._loss_net_stream.state = self._recovered["loss_net"]
            self._recovered = None
        group = micro_batches(batch)
        *before, last = self._turns_now()
        for player in before:
            self._backward(player, group)
            self.rescale_gradients()
            if self._learning_rate_scheduler:
                self._learning_rate_scheduler.step_batch(self._total_batches_completed + 1)
            if self._scaler is not None:
                self._scaler.step(self.optimizer)
                self._scaler.update()
            else:
                self.optimizer.step()
            self.optimizer.zero_grad()
            if player == LOSS_NET:
                for part in group:
                    part.features = None
        # The loop above us backpropagates what is returned, clips and steps.
        earlier = self._backward(last, group[:-1], len(group))
        loss = self._loss(last, group[-1], len(group))
        return {"loss": loss / len(group) + earlier}

    def _turns_now(self) -> List[str]:
        if self._warmup is not None and self._epochs_completed < self._warmup.epochs:
            return [self._warmup.player]
        return self._turns

    def _uses_energy(self) -> bool:
        warming_up = self._warmup is not None and self._epochs_completed < self._warmup.epochs
        model = self.model
        return model.loss_net is not None and model.task_loss.energy_weight > 0 and not warming_up

    def _backward(self, player: str, group: List[MicroBatch], size: Optional[int] = None) -> float:
        """Accumulates the player's gradients over the group; returns its part of the mean loss."""
        size, total = size or len(group), 0.0
        for part in group:
            loss = self._loss(player, part, size) / size
            total += float(loss.detach())
            scaled = loss if self._scaler is None else self._scaler.scale(loss)
            with torch.autocast(self.cuda_device.type, enabled=False):
                scaled.backward()
        return total

    def _loss(self, player: str, part: MicroBatch, group_size: int) -> torch.Tensor:
        self.optimizer.turn = player
        if player == TASK_NET:
            state = self._state(part)
            if self._uses_energy() and part.features is None:
                part.features = self.model.frozen_features(state)
            loss = self.model.task_net_loss(state, part.features if self._uses_energy() else None)
            part.state = None  # The backward pass spends its graph, and the update outdates it.
        else:
            # The graph is kept for the task-net's turn only where no other batch waits: to accumulate is to save memory.
            with torch.set_grad_enabled(group_size == 1):
                state = self._state(part)
            with self._loss_net_stream.active():
                if part.candidates is None:
                    part.candidates = self.model.draw(state)
                loss = self.model.loss_net_loss(state, part.candidates)
            if group_size > 1:
                part.state = None
        if not torch.isfinite(loss):
            raise NonFiniteLoss(
                f"the {player}'s loss is {float(loss)} at batch {self._batches_in_epoch_completed + 1} of epoch "
                f"{self._epochs_completed}; training stops, and the last checkpoint in {self._serialization_dir} is "
                f"good: lower trainer.{player}.optimizer.lr or set trainer.{player}.grad_norm."
            )
        return loss

    def _state(self, part: MicroBatch):
        if part.state is None:
            part.state = self.model.task_state(**part.batch)
        return part.state

    def rescale_gradients(self) -> Optional[float]:
        """Averages over workers, clips and logs the gradient of the player whose turn it is."""
        player = self.optimizer.turn
        if self._scaler is not None:
            self._scaler.unscale_(self.optimizer)
        if self._distributed:
            average_gradients(self.optimizer.parameters())
        limit = self._grad_norms[player]
        norm = clip_grad_norm_(self.optimizer.parameters(), float("inf") if limit is None else limit)
        self.model.monitor(f"grad_norm_{player}", norm)
        return float(norm)

    # Recovery.

    def _train_epoch(self, epoch: int) -> Dict[str, float]:
        if self._epochs_completed < self._start_after_epochs_completed:
            return {}  # Nothing of a finished epoch is needed: the checkpoint holds the generators' states.
        if self._recovered is not None:
            set_python_state(self._recovered["epoch"])
        self._epoch_random = python_state()
        return super()._train_epoch(epoch)

    def get_checkpoint_state(self) -> Optional[TrainerCheckpoint]:
        checkpoint = super().get_checkpoint_state()
        if checkpoint is not None:
            mid_epoch = self._batches_in_epoch_completed > 0
            checkpoint.trainer_state["random"] = {
                "torch": torch_state(),
                "loss_net": self._loss_net_stream.state,
                "epoch": self._epoch_random if mid_epoch else python_state(),
            }
            checkpoint.trainer_state["total_batches_completed"] = self._total_batches_completed
        return checkpoint

    def _maybe_restore_checkpoint(self) -> None:
        super()._maybe_restore_checkpoint()
        checkpoint = None if self._checkpointer is None else self._checkpointer.load_checkpoint()
        if checkpoint is not None:
            state = checkpoint.trainer_state
            self._recovered = state["random"]
            self._total_batches_completed = state["total_batches_completed"]
            # The epoch in progress is counted again as its batches are passed over.
            self._total_batches_completed -= state["batches_in_epoch_completed"]

    # Construction.

    @classmethod
    def from_partial_objects(
        cls,
        model: SealModel,
        serialization_dir: str,
        data_loader: DataLoader,
        validation_data_loader: DataLoader = None,
        local_rank: int = 0,
        task_net: Optional[Player] = None,
        loss_net: Optional[Player] = None,
        first: str = LOSS_NET,
        warmup: Optional[Warmup] = None,
        patience: int = None,
        validation_metric: Union[str, List[str]] = "-loss",
        num_epochs: int = 20,
        cuda_device: Optional[Union[int, torch.device]] = None,
        grad_clipping: float = None,
        distributed: bool = False,
        world_size: int = 1,
        num_gradient_accumulation_steps: int = 1,
        use_amp: bool = False,
        no_grad: List[str] = None,
        moving_average: Lazy[MovingAverage] = None,
        checkpointer: Optional[Lazy[Checkpointer]] = Lazy(ResumableCheckpointer),
        callbacks: List[Lazy[TrainerCallback]] = None,
        enable_default_callbacks: bool = True,
        run_confidence_checks: bool = True,
        grad_scaling: bool = True,
        ddp_accelerator: Optional[DdpAccelerator] = None,
    ) -> "AlternatingTrainer":
        """
        What `FromParams` calls.

        # Raises

        `ConfigurationError` if the model is not one of seal's, `first` names no player, or nobody is to move.
        """
        if not isinstance(model, SealModel):
            raise ConfigurationError(
                f"trainer.type: 'alternating' trains seal's models, not {type(model).__name__}."
            )
        if first not in (TASK_NET, LOSS_NET):
            raise ConfigurationError(f"trainer.first: '{TASK_NET}' or '{LOSS_NET}', not '{first}'.")
        settings = {TASK_NET: task_net or Player(), LOSS_NET: loss_net or Player()}
        if model.loss_net is None:
            if loss_net is not None:
                raise ConfigurationError("trainer.loss_net: the model has no loss_net to train.")
            del settings[LOSS_NET]
        players = {name: player for name, player in settings.items() if player.steps > 0}
        if not players:
            raise ConfigurationError("trainer: the steps of all players are 0; nothing would be trained.")
        order = sorted(players, key=lambda name: name != first)
        turns = [name for name in order for _ in range(players[name].steps)]
        if warmup is not None and warmup.player not in players:
            raise ConfigurationError(f"trainer.warmup.player: '{warmup.player}' is not trained.")
        if distributed and ddp_accelerator is None:
            ddp_accelerator = ReplicaAccelerator(cuda_device=-1 if cuda_device is None else cuda_device)

        def construct_optimizer(model_parameters) -> TwoPlayerOptimizer:
            theirs = {id(parameter) for parameter in model.loss_net_parameters()}
            parameters = {
                name: [item for item in model_parameters if (id(item[1]) in theirs) == (name == LOSS_NET)]
                for name in players
            }
            return TwoPlayerOptimizer(
                {
                    name: player.optimizer.construct(model_parameters=parameters[name])
                    for name, player in players.items()
                }
            )

        def construct_scheduler(optimizer, num_epochs, num_steps_per_epoch) -> TwoPlayerScheduler:
            return TwoPlayerScheduler(
                {
                    name: player.learning_rate_scheduler.construct(
                        optimizer=optimizer.players[name],
                        num_epochs=num_epochs,
                        num_steps_per_epoch=num_steps_per_epoch,
                    )
                    for name, player in players.items()
                    if player.learning_rate_scheduler is not None
                }
            )

        return super().from_partial_objects(
            model=model,
            serialization_dir=serialization_dir,
            data_loader=data_loader,
            validation_data_loader=validation_data_loader,
            local_rank=local_rank,
            patience=patience,
            validation_metric=validation_metric,
            num_epochs=num_epochs,
            cuda_device=cuda_device,
            grad_clipping=grad_clipping,
            distributed=distributed,
            world_size=world_size,
            num_gradient_accumulation_steps=num_gradient_accumulation_steps,
            use_amp=use_amp,
            no_grad=no_grad,
            optimizer=Lazy(construct_optimizer),
            learning_rate_scheduler=Lazy(construct_scheduler),
            moving_average=moving_average,
            checkpointer=checkpointer,
            callbacks=callbacks,
            enable_default_callbacks=enable_default_callbacks,
            run_confidence_checks=run_confidence_checks,
            grad_scaling=grad_scaling,
            ddp_accelerator=ddp_accelerator,
            turns=turns,
            grad_norms={name: player.grad_norm for name, player in players.items()},
            warmup=warmup,
        )
