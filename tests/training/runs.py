"""What the trainers' tests share: small SRL runs on the fixture, made of the configs' own functions."""

import copy
import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, List, Optional

import _jsonnet
import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common.util import prepare_environment
from allennlp.training import TrainerCallback

import seal  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"

LINEAR = {"type": "linear_with_warmup", "warmup_steps": 3}
PLATEAU = {"type": "reduce_on_plateau", "mode": "max", "patience": 0, "factor": 0.5}


def config(
    method: str = "nce(num_samples=4)", dropout: float = 0.3, batch_size: int = 2, epochs: int = 1, **more: Any
) -> Dict[str, Any]:
    """
    `srl.experiment` over 5 frames and 3 sentences, in their order. `more`: values for dotted keys; `...` drops one.
    """
    text = f"""
        local srl = import '{ROOT}/training_configs/lib/srl.libsonnet';
        srl.experiment(
          data={{ train: '{DATA}', dev: '{DATA}', test: null }},
          encoder=srl.encoder.bilstm(word_dim=6, hidden=5, predicate_dim=3, dropout={dropout}),
          method=srl.method.{method},
          energies=srl.energies(hidden_dim=8, dropout={dropout}),
          epochs={epochs},
          task_net_lr=5e-3,
          loss_net_lr=5e-3,
        )
    """
    built = json.loads(_jsonnet.evaluate_snippet("config", text))
    built["data_loader"] = {"batch_size": batch_size, "shuffle": False}
    built["trainer"].update({"cuda_device": -1, "run_confidence_checks": False})
    for key, value in more.items():
        put(built, key, value)
    return built


def put(tree: Dict[str, Any], key: str, value: Any) -> None:
    """Sets `tree[a][b]` for the key `a__b`; `...` removes it."""
    *path, last = key.split("__")
    for name in path:
        tree = tree.setdefault(name, {})
    if value is ...:
        tree.pop(last, None)
    else:
        tree[last] = value


def build(settings: Dict[str, Any], folder: Any, **extras: Any):
    """The trainer of a config, its seeds set; `.model` is on it. A folder with checkpoints recovers."""
    params = Params(copy.deepcopy(settings))
    prepare_environment(params)
    extras = {"local_rank": 0, **extras}
    Path(folder).mkdir(parents=True, exist_ok=True)
    return TrainModel.from_params(params=params, serialization_dir=str(folder), **extras).trainer


def weights(model: torch.nn.Module) -> Dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def same(first: Dict[str, torch.Tensor], second: Dict[str, torch.Tensor]) -> bool:
    """Bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def distance(first: Dict[str, torch.Tensor], second: Dict[str, torch.Tensor]) -> float:
    return max(float((first[name] - second[name]).abs().max()) for name in first)


def differing(first: Dict[str, torch.Tensor], second: Dict[str, torch.Tensor]) -> List[str]:
    return [name for name in first if not torch.equal(first[name], second[name])]


def players(model: torch.nn.Module) -> Dict[str, Dict[str, torch.Tensor]]:
    """The weights of each player."""
    split: Dict[str, Dict[str, torch.Tensor]] = {"task_net": {}, "loss_net": {}}
    for name, value in weights(model).items():
        split["loss_net" if name.startswith("loss_net.") else "task_net"][name] = value
    return split


class Killed(BaseException):
    """Stands for a signal: nothing catches it."""


class KillAt(TrainerCallback):
    """Ends the run after the given update, before the checkpoint of that batch is written."""

    def __init__(self, batch: int) -> None:
        super().__init__("")
        self.batch = batch

    def on_batch(self, trainer, *args, is_training=True, **kwargs) -> None:
        if is_training and trainer._total_batches_completed == self.batch:
            raise Killed()


@contextmanager
def counted(module: torch.nn.Module):
    """A list that grows with every forward pass of `module`."""
    calls: List[Any] = []
    handle = module.register_forward_hook(lambda *_: calls.append(torch.is_grad_enabled()))
    try:
        yield calls
    finally:
        handle.remove()


def comparable(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """Metrics without clocks and memory."""
    return {k: v for k, v in metrics.items() if "duration" not in k and "memory" not in k}


def record(trainer: Any, name: str, log: List[Any], before: Optional[Any] = None) -> None:
    """Calls `log.append(before())` before every call of the trainer's method."""
    original = getattr(trainer, name)

    def recording(*args, **kwargs):
        log.append(before(*args, **kwargs) if before else name)
        return original(*args, **kwargs)

    setattr(trainer, name, recording)
