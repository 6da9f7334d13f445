"""What the trainers' tests share: small SRL runs on the fixture, in this process and in several."""

import copy
import json
import os
import random
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import prepare_environment
from allennlp.training import TrainerCallback
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from seal.allennlp.error_sentences import describe
from seal.cli.check import check
from seal.cli.config_keys import with_config_key

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"

LINEAR = {"type": "linear_with_warmup", "warmup_steps": 3}
PLATEAU = {"type": "reduce_on_plateau", "mode": "max", "patience": 0, "factor": 0.5}


def config(
    method: str = "nce",
    dropout: float = 0.3,
    batch_size: int = 2,
    epochs: int = 1,
    energy_weight: float = 0.5,
    share_encoder: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """
    A BiLSTM over the fixture's 5 frames and 3 sentences, in their order. `more` sets further values; `a__b`
    stands for the key `a.b`, and the value `...` drops it.
    """
    indexers = {"tokens": {"type": "single_id", "lowercase_tokens": True}}
    reader = {"type": "seal_srl", "token_indexers": indexers}
    encoder = {
        "type": "seq2seq",
        "predicate_dim": 3,
        "dropout": dropout,
        "embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 6}}},
        "encoder": {"type": "lstm", "bidirectional": True, "input_size": 9, "hidden_size": 5},
    }
    player = {"optimizer": {"type": "fused_adamw", "lr": 5e-3}, "grad_norm": 10.0}
    built = {
        "random_seed": 13,
        "numpy_seed": 13,
        "pytorch_seed": 13,
        "dataset_reader": reader,
        "validation_dataset_reader": copy.deepcopy(reader),
        "train_data_path": str(DATA),
        "validation_data_path": str(DATA),
        "model": {
            "type": "seal_srl",
            "output_space": {"type": "tag_sequence", "namespace": "srl_tags"},
            "task_net": {"encoder": encoder},
        },
        "data_loader": {"batch_size": batch_size, "shuffle": False},
        "validation_data_loader": {"batch_size": 64, "shuffle": False},
        "trainer": {
            "type": "alternating",
            "num_epochs": epochs,
            "validation_metric": "+f1",
            "task_net": player,
            "cuda_device": -1,
            "run_confidence_checks": False,
        },
    }
    if method != "cross_entropy":
        sampler = {"type": "discrete", "num_samples": 4} if method == "nce" else {"type": "task_net_output"}
        energies = [{"type": "local"}, {"type": "self_attention", "hidden_dim": 8, "dropout": dropout}]
        built["model"].update(
            loss_net={"energies": energies, **({} if share_encoder else {"encoder": copy.deepcopy(encoder)})},
            sampler=sampler,
            energy_loss={"type": "nce_ranking" if method == "nce" else "margin"},
            task_loss={"energy_weight": energy_weight},
        )
        built["trainer"]["loss_net"] = copy.deepcopy(player)
    for key, value in more.items():
        put(built, key, value)
    return built


def shapes_run(path: str, parts: dict[str, Any], **trainer: Any) -> dict[str, Any]:
    """Segmentation of the images in `path`, in crops that are drawn and mirrored at random."""
    settings = {
        "dataset_reader": {"type": "seal_segmentation", "crop": 8, "mirror": True},
        "validation_dataset_reader": {"type": "seal_segmentation"},
        "train_data_path": path,
        "validation_data_path": path,
        "model": {"type": "seal_segmentation", "output_space": {"type": "binary_mask", "size": 8}, **parts},
        "data_loader": {"type": "tensors", "batch_size": 2, "shuffle": True},
        "trainer": {"type": "alternating", "cuda_device": -1, **trainer},
    }
    # Parts that are the same object would be used up together.
    return json.loads(json.dumps(settings))


def put(tree: dict[str, Any], key: str, value: Any) -> None:
    """Sets `tree[a][b]` for the key `a__b`; `...` removes it."""
    *path, last = key.split("__")
    for name in path:
        tree = tree.setdefault(name, {})
    if value is ...:
        tree.pop(last, None)
    else:
        tree[last] = value


def build(settings: dict[str, Any], folder: Any, **extras: Any):
    """The trainer of a config, its seeds set; `.model` is on it. A folder with checkpoints recovers."""
    params = Params(copy.deepcopy(settings))
    prepare_environment(params)
    extras = {"local_rank": 0, **extras}
    Path(folder).mkdir(parents=True, exist_ok=True)
    return TrainModel.from_params(params=params, serialization_dir=str(folder), **extras).trainer


def trained(settings: dict[str, Any], folder: Any):
    """The same after its run."""
    trainer = build(settings, folder)
    trainer.train()
    return trainer


def build_as_train(settings: dict[str, Any], folder: Any):
    """As `build`, with the checks of the command `seal train`."""
    check(settings)
    with with_config_key():
        return build(settings, folder)


def sentence(settings: dict[str, Any], folder: Any) -> str:
    """What the command tells of a mistake in the settings."""
    with pytest.raises(ConfigurationError) as error:
        build_as_train(settings, folder)
    told = describe(error.value)
    assert "\n" not in told
    return told


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    """Bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def distance(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
    return max(float((first[name] - second[name]).abs().max()) for name in first)


def differing(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> list[str]:
    return [name for name in first if not torch.equal(first[name], second[name])]


def players(model: torch.nn.Module) -> dict[str, dict[str, torch.Tensor]]:
    """The weights of each player."""
    split: dict[str, dict[str, torch.Tensor]] = {"task_net": {}, "loss_net": {}}
    for name, value in weights(model).items():
        split["loss_net" if name.startswith("loss_net.") else "task_net"][name] = value
    return split


def linear_rates(epochs: int, per_epoch: int) -> list[float]:
    """The learning rates of `LINEAR` alone, before the first batch and at each one."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=5e-3)
    more = {"num_epochs": epochs, "num_steps_per_epoch": per_epoch}
    scheduler = LearningRateScheduler.from_params(Params(dict(LINEAR)), optimizer=optimizer, **more)
    rates = []
    for batch in range(epochs * per_epoch + 1):
        scheduler.step_batch(batch)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


class EachBatch(TrainerCallback):
    """Gives the trainer and the metrics of each batch that is trained on to a function."""

    def __init__(self, see: Callable[[Any, dict[str, float]], None]) -> None:
        super().__init__("")
        self._see = see

    def on_batch(self, trainer, inputs, outputs, metrics, *args, is_training=True, **kwargs) -> None:
        if is_training:
            self._see(trainer, metrics)


class Killed(BaseException):
    """Stands for a signal that kills the process: nothing catches it."""


class KillAt(TrainerCallback):
    """Ends the run after the given update, before the checkpoint of that batch is written."""

    def __init__(self, batch: int) -> None:
        super().__init__("")
        self.batch = batch

    def on_batch(self, trainer, *args, is_training=True, **kwargs) -> None:
        if is_training and trainer._total_batches_completed == self.batch:
            raise Killed()


def elsewhere() -> None:
    """A new process stands at other random numbers than the one that was killed."""
    random.seed(99)
    numpy.random.seed(99)
    torch.manual_seed(99)


def train_until_killed(settings: dict[str, Any], folder: Path, killer: TrainerCallback) -> None:
    """Trains, or carries on, until the callback ends the run."""
    trainer = build(settings, folder)
    trainer._callbacks.append(killer)
    with pytest.raises(Killed):
        trainer.train()


def kill_and_recover(settings: dict[str, Any], folder: Path, *killers: TrainerCallback):
    """Once per callback; the last time to the end. Returns the trainer, and what it says of the run."""
    for killer in killers:
        train_until_killed(settings, folder, killer)
    trainer = build(settings, folder)
    if trainer._checkpointer.find_latest_checkpoint() is not None:
        elsewhere()
    return trainer, trainer.train()


@contextmanager
def counted(module: torch.nn.Module):
    """A list that grows with every forward pass of `module`."""
    calls: list[Any] = []
    handle = module.register_forward_hook(lambda *_: calls.append(torch.is_grad_enabled()))
    try:
        yield calls
    finally:
        handle.remove()


def comparable(metrics: dict[str, Any]) -> dict[str, Any]:
    """The metrics, without times and memory sizes."""
    return {k: v for k, v in metrics.items() if "duration" not in k and "memory" not in k}


def ended(trainer: Any) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Runs to the end: the metrics that can be compared, and the weights."""
    return comparable(trainer.train()), weights(trainer.model)


def record(trainer: Any, name: str, log: list[Any], before: Optional[Any] = None) -> None:
    """Calls `log.append(before())` before every call of the trainer's method."""
    original = getattr(trainer, name)

    def recording(*args, **kwargs):
        log.append(before(*args, **kwargs) if before else name)
        return original(*args, **kwargs)

    setattr(trainer, name, recording)


def on_workers(work: Any, folder: Path, size: int = 2, seconds: float = 60.0) -> list[Any]:
    """What `work(rank)` returns in each of `size` processes of a group; fails where one fails or hangs."""
    folder.mkdir(parents=True, exist_ok=True)
    meeting = f"file://{folder}/meeting-{os.urandom(4).hex()}"
    # Forked: the imports are done, and `work` may be any function.
    context = torch.multiprocessing.get_context("fork")
    arguments = [(work, rank, size, meeting, folder) for rank in range(size)]
    workers = [context.Process(target=_worker, args=given) for given in arguments]
    for worker in workers:
        worker.start()
    end = time.time() + seconds
    for worker in workers:
        worker.join(max(0.1, end - time.time()))
    hanging = [rank for rank, worker in enumerate(workers) if worker.is_alive()]
    for worker in workers:
        worker.kill()
    assert not hanging, f"workers {hanging} hang"
    ended = [worker.exitcode for worker in workers]
    assert ended == [0] * size, f"{ended}\n" + "\n".join(path.read_text() for path in folder.glob("error-*.txt"))
    return [torch.load(folder / f"result-{rank}.th", weights_only=False) for rank in range(size)]


def _worker(work, rank: int, size: int, meeting: str, folder: Path) -> None:
    try:
        torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
        torch.save(work(rank), folder / f"result-{rank}.th")
        # One that leaves while another still reads its last message may break their connection.
        done = torch.distributed.FileStore(f"{meeting.removeprefix('file://')}-done", size)
        done.set(str(rank), "done")
        done.wait([str(other) for other in range(size)], timedelta(seconds=20))
        torch.distributed.destroy_process_group()
    except BaseException:
        (folder / f"error-{rank}.txt").write_text(traceback.format_exc())
        raise


def build_worker(settings: dict[str, Any], folder: Path, rank: int, size: int = 2, on_node: Optional[int] = None):
    """
    As `build`, in a worker, whose number on its node is `on_node` where there are several nodes. The vocabulary must be
    in `folder/vocabulary`, where the command puts it.
    """
    settings, rank = copy.deepcopy(settings), rank if on_node is None else on_node
    settings["vocabulary"] = {"type": "from_files", "directory": str(folder / "vocabulary")}
    settings["trainer"].update(distributed=True, world_size=size, local_rank=rank)
    return build(settings, folder, local_rank=rank)


def killed_worker(settings: dict[str, Any], folder: Path, batch: int, before=lambda: None, **place: Any) -> None:
    """A worker whose run ends after the given update, as those of the others do; `before` is called at its start."""
    trainer = build_worker(settings, folder, **place)
    before()
    trainer._callbacks.append(KillAt(batch))
    with pytest.raises(Killed):
        trainer.train()
    torch.distributed.barrier()


def loss_of(trainer, player, part):
    """The player's loss of a `MicroBatch`, when it is its turn."""
    return next(trainer.turns.losses([(player, [part])], trainer.plan)).loss
