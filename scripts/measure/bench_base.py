"""What the suites of the benchmark share: a loop over their cases, and a trainer of nothing but steps."""

from typing import Any, Dict, List

from allennlp.common import Params
from allennlp.data import DataLoader
from allennlp.models import Model
from allennlp.training import Trainer
from tqdm import tqdm

from scripts.measure.bench_rows import Row


class Benchmark:
    """A suite. Each of its cases is a method, by name, that measures something and returns the rows."""

    def run(self, cases: List[str]) -> List[Row]:
        return [row for case in tqdm(cases, desc="cases") for row in getattr(self, case)()]


def build_trainer(settings: Dict[str, Any], model: Model, loader: DataLoader, **changes: Any) -> Trainer:
    """
    The trainer of a config for one epoch, on its device, without callbacks, checkpoints and files.

    # Parameters

    settings : `Dict[str, Any]`
        The config's `trainer`.
    changes : `Any`
        Values that replace those of `settings`.
    """
    only_steps = {
        "num_epochs": 1,
        "callbacks": [],
        "checkpointer": None,
        "enable_default_callbacks": False,
        "run_confidence_checks": False,
    }
    params = Params({**settings, **only_steps, **changes})
    trainer = Trainer.from_params(params, model=model, data_loader=loader, serialization_dir=None)
    model.to(trainer.cuda_device)
    loader.set_target_device(trainer.cuda_device)
    return trainer
