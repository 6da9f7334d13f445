import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Optional, Union

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, TensorDict
from allennlp.models import Model
from allennlp.nn.parallel import DdpAccelerator
from allennlp.training import Checkpointer, GradientDescentTrainer, Trainer
from allennlp.training.callbacks import ShouldValidateCallback
from allennlp.training.trainer import TrainerCheckpoint
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from seal.common.setting_checks import check_range
from seal.common.signatures import with_parameters_of
from seal.models import SealModel
from seal.models.batch_checks import NonFiniteOutput
from seal.training.cpu_autocast import uses_cpu_autocast
from seal.training.divergence import LastGoodCheckpoint, NonFiniteLoss, player_diverged, validation_diverged
from seal.training.held_out import HeldOut, held_out_of_run, learn_structure
from seal.training.inner_parameters import check_found
from seal.training.loaded_data import check_data
from seal.training.micro_batches import GroupedLoader, Update, micro_batches, updates_on_fresh_batches
from seal.training.phased_trainer import PhasedTrainer
from seal.training.phases import Phase, Phases
from seal.training.players import LOSS_NET, TASK_NET, Player, Players
from seal.training.replicas import GradientExchange, accelerator_of_run
from seal.training.resumable_trainer import ResumableCheckpointer
from seal.training.self_training import SelfTraining
from seal.training.sharded_optimizer import ShardedOptimizer
from seal.two_player import MicroBatch, Plan, RandomStream, Turns, TwoPlayerOptimizer


@Trainer.register("alternating", constructor="from_partial_objects")
class AlternatingTrainer(PhasedTrainer):
    """
    Trains task-net and loss-net in turns (SEAL, NeurIPS 2022, Eq. 4-5; ICLR 2022 submission, Algorithm 1). For each
    batch, with the default order:

        S       = candidates from the task-net as it is
        Theta_t = `loss_net.steps` updates of the loss-net by L_E on S and gold
        Phi_t   = `task_net.steps` updates of the task-net by L_F under Theta_t

    One pass of the task-net serves both updates if its parameters have not changed in between. SEAL-static is a phase
    that trains the loss-net, followed by one that trains the task-net; or `loss_net.steps = 0` with a trained
    loss-net. A model without a loss-net is trained by cross-entropy.

    The epoch loop, validation, early stopping, callbacks, progress bar and mixed precision are AllenNLP's. The last
    update of a batch is made by that loop, the earlier ones inside `training_loss`. A killed run recovers to the same
    result (`ResumableTrainer`). The best epoch is one of the last phase, and patience counts in that phase alone.

    # Parameters

    As AllenNLP's `gradient_descent`, except that these take the place of `optimizer`,
    `learning_rate_scheduler` and `grad_norm`:

    task_net, loss_net : `Player`, optional
        Optimizer, learning-rate scheduler, gradient norm and steps of each player. A scheduler counts the batches and
        epochs in which its player is trained, since it was last restarted; of these, `reduce_on_plateau` counts only
        the epochs in which a player that affects predictions is trained.
    first : `str`, optional (default = `"loss_net"`)
        The player that is updated first in a batch.
    reuse_features : `bool`, optional (default = `False`)
        Whether one pass of the loss-net's own encoder serves both players, where otherwise each has its own. If the
        task-net is first, this changes nothing else. If the loss-net is, the task-net follows vectors of the encoder
        from before the loss-net's last update, and terms from after it. In both cases these vectors have the dropout of
        the loss-net's encoder, if there is any.
    fresh_batches : `bool`, optional (default = `False`)
        Whether each of a player's several updates takes the next batch, where otherwise all updates are on the same
        one: with `task_net.steps = 5` (the `k` of Tu, Pang & Gimpel 2020, section 4.3) and `loss_net.steps = 1`, the
        networks are updated on five batches, and the energy on the last of these or, if it is first, on the first. An
        epoch is still one pass over the data, and so has fewer updates. Its last batches, if they are too few, are
        taken again. What counts batches, such as a scheduler, `save_every_num_batches` and the progress bar, counts
        such groups.
    phases : `list[Phase]`, optional (default = `[{}]`)
        Which players are trained in which epochs, each by its own number of steps per batch. SEAL-static with NCE:
        `[{epochs: 20, train: "task_net", energy: false}, {epochs: 30, train: "loss_net"}, {train: "task_net", restart:
        true}]`.
    best_of_all_phases : `bool`, optional (default = `False`)
        Whether the best epoch may lie in any phase, where otherwise it is one of the last: fine-tuning that makes a
        task-net worse then leaves what it was before.
    self_training : `SelfTraining`, optional (default = `None`)
        Learns from inputs without gold, too, when the rest is done.
    folds : `int`, optional (default = 3 for a model with a `structure`)
        The structure is learned on held-out scores: before the task-net, as many nets are trained, each on all folds of
        the data but one, which it then scores (`folds/` in the run's folder). With 0 the structure is learned on the
        task-net's scores of what it has seen.
    folds_with_loss_net : `bool`, optional (default = `True`)
        Whether the nets of folds are trained with a loss-net, too. Without it they learn by cross-entropy alone, in a
        part of the time; the structure learns from them nearly as well.
    folds_pretrained_file : `str`, optional (default = `None`)
        Needed with folds where the model starts from a trained one (`pretrained_file` of a net, or the type
        `from_archive`): an archive or a run's folder, of a model that was not trained on this data, from which the nets
        of folds start. It may be the same; if that was trained on this data, held-out scores would not be held out.
    use_amp : `bool`, optional (default = `False`)
        Mixed precision. On a GPU it is AllenNLP's; on a CPU, matrix products and convolutions run in bfloat16, which
        is faster if the processor has instructions for it (`avx512_bf16`, `amx_bf16`). Logits, losses, at least the
        last layer of each energy, and all of validation keep full precision.
    num_gradient_accumulation_steps : `int`, optional (default = `1`)
        The number of batches that make one update. A player is updated on all of them before it is the other player's
        turn. Each batch has the same weight, as in AllenNLP, so that batches of one size give the update of one large
        batch.
    shard_optimizer_states : `bool`, optional (default = `False`)
        Whether each worker of a distributed run keeps the optimizers' states (of Adam twice the weights) of its own
        part of the parameters, which it updates and sends to the others (ZeRO, stage 1). The result is the same, and a
        checkpoint has all states, so that a run may go on with another number of workers.
    """

    def __init__(
        self,
        model: SealModel,
        optimizer: TwoPlayerOptimizer,
        data_loader: DataLoader,
        *,
        players: Players,
        num_gradient_accumulation_steps: int = 1,
        cpu_autocast: bool = False,
        reuse_features: bool = False,
        held_out: Optional[HeldOut] = None,
        self_training: Optional[Callable[..., dict[str, Any]]] = None,
        **settings: Any,
    ) -> None:
        group_size = num_gradient_accumulation_steps * players.batches_of_updates
        if group_size > 1:
            data_loader = GroupedLoader(data_loader, group_size)
        super().__init__(model, optimizer, data_loader, **settings)
        self._fresh_batches, self._accumulated = players.batches_of_updates > 1, num_gradient_accumulation_steps
        #: What is called between the turns of a batch, with the player whose updates are done.
        self.between_turns: list[Callable[[str], None]] = []
        self._order, self._grad_norms = players.turns, players.grad_norms
        self._cpu_autocast = cpu_autocast
        self._seed = torch.initial_seed() + 1 + self._worker
        self._loss_net_stream = RandomStream(self._seed)
        self._streams["loss_net"] = self._loss_net_stream
        self._exchanges: dict[str, GradientExchange] = {}
        if self._distributed:
            self._exchanges = {name: GradientExchange(optimizer.parameters(name)) for name in optimizer.players}
        self._turns = Turns(
            model,
            optimizer,
            self._loss_net_stream,
            self._backpropagate,
            self._step_optimizer,
            self._diverged,
            reuse_features,
            self._before_last_backward,
        )
        # For the candidates of validation data, while the loss-net is scored on them.
        self._validation_stream: Optional[RandomStream] = None
        self._held_out, self._self_training = held_out, self_training
        self._last_good_checkpoint = LastGoodCheckpoint(self._checkpointer)

    def train(self) -> dict[str, Any]:
        if any(isinstance(callback, ShouldValidateCallback) for callback in self._callbacks):
            raise ConfigurationError(
                "trainer.callbacks: leave 'should_validate_callback' out: with it, AllenNLP keeps an epoch as the best "
                "that was not validated."
            )
        scheduler = self._learning_rate_scheduler
        if self._validation_data_loader is None and scheduler is not None:
            scheduler.check_follows_no_metric()
        student = None if self._self_training is None else copy.deepcopy(self.model)
        if self._held_out is not None:
            self._held_out.train(self.model)
        metrics = super().train()
        if self._held_out is not None:
            metrics.update(learn_structure(self, self._held_out))
        if student is not None:
            metrics.update(self._self_training(self, metrics, student))
        return metrics

    def _validation_loss(self, epoch: int) -> tuple[float, Optional[float], int]:
        if LOSS_NET in self.optimizer.players and (self._plan().uses_energy or self._phase.trains(LOSS_NET)):
            # The same draws in every epoch, which no other draws depend on.
            self._validation_stream = RandomStream(self._seed)
        try:
            return super()._validation_loss(epoch)
        finally:
            self._validation_stream = None

    # The step.

    def batch_outputs(self, batch: TensorDict, for_training: bool) -> dict[str, torch.Tensor]:
        if not for_training:
            # In full precision, as a trained model is evaluated and predicts.
            try:
                with torch.autocast(self.cuda_device.type, enabled=False):
                    outputs = super().batch_outputs(batch, for_training=False)
                    if self._validation_stream is not None:
                        with self._validation_stream.active():
                            self.model.score_loss_net(batch)
                    return outputs
            except NonFiniteOutput as error:
                raise self._diverged_in_validation(error) from error
        # AllenNLP's own autocast is for GPUs only.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._cpu_autocast):
            outputs = super().batch_outputs(batch, for_training=True)
        self._last_good_checkpoint.loss_was_finite(self._epochs_completed, self._batches_in_epoch_completed)
        return outputs

    def training_loss(self, batch: TensorDict) -> torch.Tensor:
        parts, plan = micro_batches(batch), self._plan()
        updates = self._updates(parts, plan)
        for (player, group), (following, _) in zip(updates, updates[1:]):
            self._turns.update(player, group, plan, parts)
            if following != player:
                self._end_turn(player)
        # AllenNLP's loop backpropagates what is returned, clips and steps.
        return self._turns.mean_loss(*updates[-1], plan)

    def _updates(self, parts: list[MicroBatch], plan: Plan) -> list[Update]:
        """The updates of these batches, in order."""
        if self._fresh_batches:
            return updates_on_fresh_batches(parts, plan.order, self._accumulated)
        return [(player, parts) for player in plan.order]

    def _end_turn(self, player: str) -> None:
        with torch.autocast(self.cuda_device.type, enabled=False):
            for function in self.between_turns:
                function(player)

    def _plan(self) -> Plan:
        """What is done with a batch in this phase."""
        order = [player for player in self._order if self._phase.trains(player)]
        return Plan(order, self.model.uses_energy and self._phase.energy, self._phase.supervised)

    def _before_last_backward(self) -> None:
        if self._distributed:
            self._exchanges[self.optimizer.turn].begin()

    def _backpropagate(self, loss: torch.Tensor) -> None:
        scaled = loss if self._scaler is None else self._scaler.scale(loss)
        with torch.autocast(self.cuda_device.type, enabled=False):
            scaled.backward()

    def _step_optimizer(self) -> None:
        """Does what AllenNLP's loop does after a backward pass, for all updates of a batch but the last."""
        self.rescale_gradients()
        self.clip_gradient()
        if self._learning_rate_scheduler:
            self._learning_rate_scheduler.step_batch(self._total_batches_completed + 1)
        if self._scaler is not None:
            self._scaler.step(self.optimizer)
            self._scaler.update()
        else:
            self.optimizer.step()
        # Under autocast, torch caches low-precision copies of the weights, which the update has made stale.
        torch.clear_autocast_cache()

    def rescale_gradients(self) -> Optional[float]:
        """Averages over workers, clips and logs the gradient of the player whose turn it is."""
        player = self.optimizer.turn
        if self._distributed:
            # Before they are unscaled: an overflow in one worker must skip the update in all.
            self._exchanges[player].finish()
        self.optimizer.pauses = all(parameter.grad is None for parameter in self.optimizer.parameters())
        if self.optimizer.pauses:
            # Clipping by value and a scaler want to see a gradient in every update.
            first = self.optimizer.parameters()[0]
            first.grad = torch.zeros_like(first)
        if self._scaler is not None:
            self._scaler.unscale_(self.optimizer)
        limit = self._grad_norms[player]
        parameters = list(self.optimizer.parameters())
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        length = float(norm)
        if limit is not None and length > limit:  # Otherwise clipping would change nothing.
            clip_grads_with_norm_(parameters, limit, norm)
        if self.optimizer.pauses:
            return length
        if math.isfinite(length):
            self.model.monitors.add(f"grad_norm_{player}", length)
        elif self._scaler is None:  # With a scaler such an update is skipped.
            raise self._diverged(f"{player}'s gradient is {length}", *self._turns.of[player].blamed(self._plan()))
        return length

    def _diverged(self, what: str, *players: str) -> NonFiniteLoss:
        place = f"at batch {self._batches_in_epoch_completed + 1} of epoch {self._epochs_completed}"
        return player_diverged(what, players, place, self._last_good_checkpoint)

    def _diverged_in_validation(self, error: NonFiniteOutput) -> NonFiniteLoss:
        players = list(self.optimizer.players)
        predicting = [player for player in players if self._prediction_depends_on([player])]
        return validation_diverged(error, predicting, players, self._after_batch(), self._last_good_checkpoint)

    def _after_batch(self) -> str:
        return f"after batch {self._batches_in_epoch_completed} of epoch {self._epochs_completed}"

    def get_checkpoint_state(self) -> Optional[TrainerCheckpoint]:
        sharded = isinstance(self.optimizer, ShardedOptimizer)
        states = self.optimizer.whole_state(self._primary) if sharded else None
        checkpoint = super().get_checkpoint_state()
        if checkpoint is not None and sharded:
            checkpoint.trainer_state["optimizer"] = states
        return checkpoint

    def _restored(self, state: dict[str, Any]) -> None:
        super()._restored(state)
        self._last_good_checkpoint.recovered(state["epochs_completed"], state["batches_in_epoch_completed"])

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        metrics = super()._train_epoch(epoch)
        # No loss follows the last update, and without validation data nothing else looks at what it has made.
        for player in self.optimizer.players:
            finite = [torch.isfinite(parameter).all() for parameter in self.optimizer.parameters(player)]
            if not bool(torch.stack(finite).all()):
                what = f"{player}'s weights are not finite"
                raise player_diverged(what, [player], self._after_batch(), self._last_good_checkpoint)
        return metrics

    # Construction.

    @classmethod
    @with_parameters_of(
        GradientDescentTrainer.from_partial_objects,
        without=("optimizer", "learning_rate_scheduler", "momentum_scheduler", "grad_norm"),
    )
    def from_partial_objects(  # noqa: PLR0913 - the settings that a config names
        cls,
        model: SealModel,
        serialization_dir: str,
        data_loader: DataLoader,
        validation_data_loader: DataLoader = None,
        *,
        task_net: Optional[Player] = None,
        loss_net: Optional[Player] = None,
        first: str = LOSS_NET,
        reuse_features: bool = False,
        fresh_batches: bool = False,
        phases: Optional[list[Phase]] = None,
        best_of_all_phases: bool = False,
        shard_optimizer_states: bool = False,
        validation_metric: Union[str, list[str]] = "-loss",
        num_epochs: int = 20,
        cuda_device: Optional[Union[int, torch.device]] = None,
        folds: Optional[int] = None,
        folds_with_loss_net: bool = True,
        folds_pretrained_file: Optional[str] = None,
        self_training: Optional[SelfTraining] = None,
        grad_clipping: float = None,
        distributed: bool = False,
        use_amp: bool = False,
        no_grad: list[str] = None,
        checkpointer: Optional[Lazy[Checkpointer]] = Lazy(ResumableCheckpointer),
        ddp_accelerator: Optional[DdpAccelerator] = None,
        **settings: Any,
    ) -> "AlternatingTrainer":
        """
        The constructor that `FromParams` calls.

        # Raises

        `ConfigurationError` if the model is not one of seal's, `first` names no player, no player is to be trained,
        the phases do not fit the players or `num_epochs`, `no_grad` names no parameter, there are no features to
        reuse, no player has several updates for fresh batches, or a reader's `max_tokens` is more than the model's
        transformer takes.
        """
        _check_settings(model, data_loader, validation_data_loader, grad_clipping, no_grad)
        cpu_autocast = uses_cpu_autocast(model, use_amp, cuda_device)
        schedule = Phases(phases or [Phase()], num_epochs)
        schedule.check_metrics(model, validation_metric, validation_data_loader is not None)
        given = {TASK_NET: task_net, LOSS_NET: loss_net}
        players = Players(model, given, first, schedule, reuse_features, fresh_batches)
        # What the nets of folds and a student share with this one.
        settings.update(
            validation_data_loader=validation_data_loader,
            validation_metric=validation_metric,
            num_epochs=num_epochs,
            cuda_device=cuda_device,
            grad_clipping=grad_clipping,
            no_grad=no_grad,
            checkpointer=checkpointer,
            best_of_all_phases=best_of_all_phases,
            reuse_features=reuse_features,
        )
        # Not `cls.from_partial_objects`: a subclass has made its own arguments of the settings by now.
        make = partial(
            AlternatingTrainer.from_partial_objects.__func__,
            cls,
            task_net=task_net,
            loss_net=loss_net,
            first=first,
            phases=phases,
            use_amp=use_amp,
            fresh_batches=fresh_batches,
            **settings,
        )
        loaders = (data_loader, validation_data_loader)
        of_folds = (folds, folds_with_loss_net, folds_pretrained_file)
        held_out = held_out_of_run(model, *of_folds, make, *loaders, serialization_dir, distributed)
        teach = None if self_training is None else self_training.of_run(model, make, *loaders, held_out, distributed)
        return super().from_partial_objects(
            model=model,
            serialization_dir=serialization_dir,
            data_loader=data_loader,
            distributed=distributed,
            use_amp=use_amp and not cpu_autocast,
            optimizer=Lazy(partial(players.optimizer, sharded=distributed and shard_optimizer_states)),
            learning_rate_scheduler=Lazy(players.scheduler),
            ddp_accelerator=accelerator_of_run(ddp_accelerator, distributed, cuda_device),
            players=players,
            phases=schedule,
            cpu_autocast=cpu_autocast,
            held_out=held_out,
            self_training=teach,
            **settings,
        )


def _check_settings(
    model: Model,
    data_loader: DataLoader,
    validation_data_loader: Optional[DataLoader],
    grad_clipping: Optional[float],
    no_grad: Optional[list[str]],
) -> None:
    if not isinstance(model, SealModel):
        raise ConfigurationError(
            f"trainer.type: 'alternating' and 'implicit_gradient' train seal's models, not {type(model).__name__}."
        )
    check_range("trainer.grad_clipping", grad_clipping, above=0)
    check_found(no_grad or (), dict(model.named_parameters()), "trainer.no_grad", "of the model")
    check_data(model, data_loader, validation_data_loader)
