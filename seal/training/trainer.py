"""
The trainer `alternating`: AllenNLP's training loop, which backpropagates the losses of `AlternatingUpdates` and follows
the phases of the run.
"""

import copy
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Optional, Union

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, TensorDict
from allennlp.models import Model
from allennlp.nn.parallel import DdpAccelerator
from allennlp.training import Checkpointer, GradientDescentTrainer, Trainer
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from seal.common.setting_checks import check_range, pop_arguments, with_parameters_of
from seal.tasks.base import SealModel
from seal.tasks.base.scored_rows import NonFiniteOutput
from seal.training.batch_groups import micro_batches, updates_on_fresh_batches
from seal.training.bilevel import check_patterns
from seal.training.checkpoints import NonFiniteLoss, ResumableCheckpointer, player_diverged, validation_diverged
from seal.training.cross_fitting import CrossFitter, FoldSettings, cross_fitter_of_run, learn_structure
from seal.training.distributed import GradientExchange, accelerator_of_run
from seal.training.loaders import check_loaders
from seal.training.mixed_precision import uses_cpu_autocast
from seal.training.phases import Phase, PhasedRun, Phases
from seal.training.players import Player, Players
from seal.training.resumable_trainer import VALIDATION, ResumableTrainer
from seal.training.self_training import SelfTraining, StudentTraining
from seal.two_player import LOSS_NET, TASK_NET, AlternatingUpdates, NotFinite, Plan, RandomStream, TwoPlayerOptimizer


@dataclass
class StepSettings:
    """The settings of the updates and phases, described in `AlternatingTrainer`."""

    task_net: Optional[Player] = None
    loss_net: Optional[Player] = None
    first: str = LOSS_NET
    reuse_features: bool = False
    fresh_batches: bool = False
    interleaved: bool = False
    phases: Optional[list[Phase]] = None
    best_of_all_phases: bool = False
    shard_optimizer_states: bool = False

    def by_gold_alone(self) -> "StepSettings":
        """The settings without the loss-net."""
        return replace(self, loss_net=None, phases=None, reuse_features=False, fresh_batches=False, interleaved=False)


@dataclass
class RunSettings:
    """AllenNLP's settings of a run that this trainer reads, and self-training."""

    validation_metric: Union[str, list[str]] = "-loss"
    num_epochs: int = 20
    self_training: Optional[SelfTraining] = None
    cuda_device: Optional[Union[int, torch.device]] = None
    grad_clipping: Optional[float] = None
    no_grad: Optional[list[str]] = None
    use_amp: bool = False
    num_gradient_accumulation_steps: int = 1
    checkpointer: Optional[Lazy[Checkpointer]] = Lazy(ResumableCheckpointer)
    distributed: bool = False
    ddp_accelerator: Optional[DdpAccelerator] = None


@Trainer.register("alternating", constructor="from_partial_objects")
class AlternatingTrainer(ResumableTrainer):
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
    update of a batch is made by that loop, the earlier ones inside `training_loss`. The best epoch is one of the last
    phase, and patience counts in that phase alone.

    `--recover` continues a killed run to the same result (`ResumableTrainer`).

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
    interleaved : `bool`, optional (default = `False`)
        Whether all updates of the player that is first are repeated before every update of the other one, as in the
        code of SEAL's authors, from which the published numbers of steps are: a batch then has `task_net.steps` x
        (`loss_net.steps` + 1) updates, where otherwise it has their sum. Candidates are new after each update of the
        task-net.
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
    fold_jobs : `int`, optional (default = as many as there are cores and memory for; 1 on a GPU)
        How many nets are trained at a time, those of folds and the run's own, each in a process. The threads of the
        run (`OMP_NUM_THREADS`, or all cores) are divided among them; with as many threads each, the result is the same
        bit for bit whatever their number.
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
        phases: Phases,
        step: StepSettings,
        num_gradient_accumulation_steps: int = 1,
        cpu_autocast: bool = False,
        held_out: Optional[CrossFitter] = None,
        self_training: Optional[StudentTraining] = None,
        **settings: Any,
    ) -> None:
        group_size = num_gradient_accumulation_steps * players.batches_of_updates
        super().__init__(model, optimizer, data_loader, group_size, **settings)
        self._seed = torch.initial_seed() + 1 + self.worker
        stream = self.streams["loss_net"] = RandomStream(self._seed)
        self.turns = AlternatingUpdates(model, optimizer, stream, step.reuse_features)
        self._players, self._cpu_autocast = players, cpu_autocast
        self._fresh_batches, self._accumulated = step.fresh_batches, num_gradient_accumulation_steps
        #: What is called between the turns of a batch, with the player whose updates are done.
        self.between_turns: list[Callable[[str], None]] = []
        self._exchanges: dict[str, GradientExchange] = {}
        if self.is_distributed:
            self._exchanges = {name: GradientExchange(optimizer.parameters(name)) for name in optimizer.players}
        self.phases = PhasedRun(
            phases,
            model,
            optimizer,
            self.scheduler,
            self.metric_tracker,
            self.averages,
            self.folder,
            step.best_of_all_phases,
            self.is_primary,
            self.is_distributed,
        )
        self.kept.append(self.phases)
        #: What is done with a batch in the phase of the epoch in progress.
        self.plan = self._plan()
        # For the candidates of validation data, while the loss-net is scored on them.
        self._validation_stream: Optional[RandomStream] = None
        self._held_out, self._self_training = held_out, self_training

    # The run.

    def train(self) -> dict[str, Any]:
        if self.validation_data_loader is None and self.scheduler is not None:
            self.scheduler.check_follows_no_metric()
        student = None if self._self_training is None else copy.deepcopy(self.model)
        with nullcontext() if self._held_out is None else self._held_out.training(self):
            metrics = super().train()
        self.phases.end()
        if self._held_out is not None:
            # The last epoch's are of the task-net alone, under the names of what is predicted; its own file has them.
            metrics = {name: value for name, value in metrics.items() if not name.startswith(VALIDATION)}
            metrics.update(learn_structure(self, self._held_out))
        if self._self_training is not None and student is not None:
            metrics.update(self._self_training(self, metrics, student))
        return metrics

    def epoch_begins(self, epoch: int, inside: bool) -> None:
        self.phases.enter(epoch, inside)
        self.plan = self._plan()

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        metrics = super()._train_epoch(epoch)
        # No loss follows the last update, and without validation data nothing else looks at what it has made.
        for player in self.optimizer.players:
            finite = [torch.isfinite(parameter).all() for parameter in self.optimizer.parameters(player)]
            if not bool(torch.stack(finite).all()):
                what = f"{player}'s weights are not finite"
                raise player_diverged(what, [player], self._after_batch(), self.last_good_checkpoint)
        return metrics

    def epoch_measured(self, metrics: dict[str, Any], epoch: int) -> None:
        super().epoch_measured(metrics, epoch)
        start = len(VALIDATION)
        self.phases.count({name[start:]: v for name, v in metrics.items() if name.startswith(VALIDATION)}, epoch)

    def _validation_loss(self, epoch: int) -> tuple[float, Optional[float], int]:
        if LOSS_NET in self.optimizer.players and (self.plan.uses_energy or self.phases.phase.trains(LOSS_NET)):
            # The same draws in every epoch, which no other draws depend on.
            self._validation_stream = RandomStream(self._seed)
        try:
            return super()._validation_loss(epoch)
        finally:
            self._validation_stream = None

    def _plan(self) -> Plan:
        phase = self.phases.phase
        return Plan(self._players.turns(phase), self.model.uses_energy and phase.energy, phase.supervised)

    # The step.

    def batch_outputs(self, batch: TensorDict, for_training: bool) -> dict[str, torch.Tensor]:
        if not for_training:
            return self._validation_outputs(batch)
        self.batch_begins()
        # AllenNLP's own autocast is for GPUs only.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._cpu_autocast):
            loss = self.training_loss(batch)
        self.batch_ends(loss)
        return {"loss": loss}

    def training_loss(self, batch: TensorDict) -> torch.Tensor:
        """Makes all updates of a batch except the last, and returns its loss: AllenNLP's loop makes the last update."""
        parts = micro_batches(batch)
        if self._fresh_batches:
            updates = updates_on_fresh_batches(parts, self.plan.order, self._accumulated)
        else:
            updates = [(player, parts) for player in self.plan.order]
        try:
            for player, loss, completes, ends_turn, is_last in self.turns.losses(updates, self.plan, parts):
                if completes and self.is_distributed:
                    self._exchanges[player].begin()
                if is_last:
                    break
                scaled = loss if self.scaler is None else self.scaler.scale(loss)
                with torch.autocast(self.cuda_device.type, enabled=False):
                    scaled.backward()
                if completes:
                    self._update()
                if completes and ends_turn and self.between_turns:
                    with torch.autocast(self.cuda_device.type, enabled=False):
                        for function in self.between_turns:
                            function(player)
        except NotFinite as error:
            raise self._diverged(error.what, *error.players) from error
        return loss

    def _update(self) -> None:
        """Makes an update after the backward pass, as AllenNLP's loop does for the last update of a batch."""
        self.rescale_gradients()
        self.clip_gradient()
        if self.scheduler:
            self.scheduler.step_batch(self.batches_completed + 1)
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        # Under autocast, torch caches low-precision copies of the weights, which the update has made stale.
        torch.clear_autocast_cache()
        self.optimizer.zero_grad()

    def rescale_gradients(self) -> Optional[float]:
        """Averages over workers, clips and logs the gradient of the player whose turn it is."""
        player = self.optimizer.turn
        if self.is_distributed:
            # Before they are unscaled: an overflow in one worker must skip the update in all.
            self._exchanges[player].finish()
        self.optimizer.pauses = all(parameter.grad is None for parameter in self.optimizer.parameters())
        if self.optimizer.pauses:
            # Clipping by value and a scaler want to see a gradient in every update.
            first = self.optimizer.parameters()[0]
            first.grad = torch.zeros_like(first)
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        limit = self._players.grad_norms[player]
        parameters = list(self.optimizer.parameters())
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        length = float(norm)
        if limit is not None and length > limit:  # Otherwise clipping would change nothing.
            clip_grads_with_norm_(parameters, limit, norm)
        if self.optimizer.pauses:
            return length
        if math.isfinite(length):
            self.model.monitors.add(f"grad_norm_{player}", length)
        elif self.scaler is None:  # With a scaler such an update is skipped.
            raise self._diverged(f"{player}'s gradient is {length}", *self.turns.blamed(player, self.plan))
        return length

    def _validation_outputs(self, batch: TensorDict) -> dict[str, torch.Tensor]:
        """The outputs for a batch of validation data, in full precision, as in evaluation and prediction."""
        try:
            with torch.autocast(self.cuda_device.type, enabled=False):
                outputs = super().batch_outputs(batch, for_training=False)
                if self._validation_stream is not None:
                    with self._validation_stream.active():
                        self.model.score_loss_net(batch)
                return outputs
        except NonFiniteOutput as error:
            players = list(self.optimizer.players)
            predicting = [player for player in players if self.phases.prediction_depends_on([player])]
            place = self._after_batch()
            raise validation_diverged(error, predicting, players, place, self.last_good_checkpoint) from error

    def _diverged(self, what: str, *players: str) -> NonFiniteLoss:
        epochs, batches = self.place
        return player_diverged(what, players, f"at batch {batches + 1} of epoch {epochs}", self.last_good_checkpoint)

    def _after_batch(self) -> str:
        epochs, batches = self.place
        return f"after batch {batches} of epoch {epochs}"

    # Construction.

    @classmethod
    @with_parameters_of(
        StepSettings,
        RunSettings,
        FoldSettings,
        GradientDescentTrainer.from_partial_objects,
        without=("optimizer", "learning_rate_scheduler", "momentum_scheduler", "grad_norm"),
    )
    def from_partial_objects(
        cls,
        model: SealModel,
        serialization_dir: str,
        data_loader: DataLoader,
        validation_data_loader: Optional[DataLoader] = None,
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
        parts = (
            pop_arguments(StepSettings, settings),
            pop_arguments(RunSettings, settings),
            pop_arguments(FoldSettings, settings),
        )
        return cls._constructed(model, serialization_dir, data_loader, validation_data_loader, *parts, **settings)

    @classmethod
    def _constructed(
        cls,
        model: SealModel,
        serialization_dir: str,
        data_loader: DataLoader,
        validation_data_loader: Optional[DataLoader],
        step: StepSettings,
        run: RunSettings,
        folds: FoldSettings,
        **settings: Any,
    ) -> "AlternatingTrainer":
        _check_settings(model, data_loader, validation_data_loader, run)
        cpu_autocast = uses_cpu_autocast(model, run.use_amp, run.cuda_device)
        phases = Phases(step.phases or [Phase()], run.num_epochs)
        phases.check_metrics(model, run.validation_metric, validation_data_loader is not None)
        given = {TASK_NET: step.task_net, LOSS_NET: step.loss_net}
        players = Players(model, given, step.first, phases, step.reuse_features, step.fresh_batches, step.interleaved)

        def make(net: SealModel, folder: str, loader: DataLoader, with_loss_net: bool = True) -> AlternatingTrainer:
            """The trainer of a net of folds or of a student, in one process."""
            alone = replace(run, self_training=None, distributed=False, ddp_accelerator=None)
            steps = step if with_loss_net else step.by_gold_alone()
            return cls._constructed(
                net, folder, loader, validation_data_loader, steps, alone, FoldSettings(), **settings
            )

        loaders = (data_loader, validation_data_loader)
        held_out = cross_fitter_of_run(model, folds, make, *loaders, serialization_dir, run.distributed)
        teach = None
        if run.self_training is not None:
            teach = run.self_training.of_run(model, make, *loaders, held_out, run.distributed)
        changed = {
            "self_training": teach,
            "use_amp": run.use_amp and not cpu_autocast,
            "ddp_accelerator": accelerator_of_run(run.ddp_accelerator, run.distributed, run.cuda_device),
        }
        # AllenNLP's own types say less than it takes.
        make_trainer: Any = super().from_partial_objects
        lazy: Any = Lazy
        return make_trainer(
            model=model,
            serialization_dir=serialization_dir,
            data_loader=data_loader,
            validation_data_loader=validation_data_loader,
            optimizer=lazy(partial(players.optimizer, sharded=run.distributed and step.shard_optimizer_states)),
            learning_rate_scheduler=lazy(players.scheduler),
            players=players,
            phases=phases,
            step=step,
            cpu_autocast=cpu_autocast,
            held_out=held_out,
            **{**vars(run), **changed},
            **settings,
        )


def _check_settings(
    model: Model, data_loader: DataLoader, validation_data_loader: Optional[DataLoader], run: RunSettings
) -> None:
    if not isinstance(model, SealModel):
        raise ConfigurationError(
            f"trainer.type: 'alternating' and 'implicit_gradient' train seal's models, not {type(model).__name__}."
        )
    check_range("trainer.grad_clipping", run.grad_clipping, above=0)
    check_patterns(run.no_grad or (), dict(model.named_parameters()), "trainer.no_grad", "of the model")
    check_loaders(model, data_loader, validation_data_loader)
