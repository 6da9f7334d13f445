import os
from typing import Any, Optional, Union

import torch
import torch.distributed as dist
from allennlp.training.metric_tracker import MetricTracker

from seal.files.whole_files import replacing

# The weights of the best epoch of the phase in progress, in the run's folder.
_FILE = "phase_best.th"


class PhaseBest:
    """
    The best epoch of a phase that has a `validation_metric`, whose weights the next phase starts from.

    # Parameters

    folder : `str`
        The run's.
    metric : `Union[str, list[str]]`, optional
        The phase's.
    """

    def __init__(self, folder: str, metric: Union[str, list[str]] = ()) -> None:
        self._path = os.path.join(folder, _FILE)
        self._tracker = MetricTracker(metric)

    def is_best(self, metrics: dict[str, float], epoch: int) -> bool:
        """Counts an epoch with these metrics on validation data; whether it is the best of the phase so far."""
        self._tracker._epoch_number = epoch
        self._tracker.add_metrics(metrics)
        return self._tracker.is_best_so_far()

    @property
    def epoch(self) -> Optional[int]:
        """The best epoch so far, counted through the run."""
        return self._tracker.best_epoch

    def save(self, model: torch.nn.Module) -> None:
        with replacing(self._path) as draft:
            torch.save(model.state_dict(), draft)

    @torch.no_grad()
    def restore(self, model: torch.nn.Module, is_primary: bool, distributed: bool) -> None:
        """Gives the model the weights that were saved, on all workers."""
        if is_primary:
            model.load_state_dict(torch.load(self._path, map_location="cpu"))
        if distributed:
            for tensor in (*model.parameters(), *model.buffers()):
                dist.broadcast(tensor.data, src=0)

    def forget(self) -> None:
        """Removes the file, at the end of the run."""
        if os.path.exists(self._path):
            os.remove(self._path)

    def state_dict(self) -> dict[str, Any]:
        return self._tracker.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._tracker.load_state_dict(state)
