from typing import Union

import torch

from seal.metrics.workers import gathered

#: Scalars that wait before they are read; an epoch may have any number of batches.
_MOST_WAITING = 100


class Monitors:
    """
    Running means of the values that training reports by name.

    The sums stay in each worker until they are reset. AllenNLP's `Average` exchanges every single value between
    workers, which hang where one of them reports a name that the others do not (after a batch without a predicate,
    for example).
    """

    def __init__(self) -> None:
        # By name: the sum and the number of values.
        self._sums: dict[str, list[float]] = {}
        # Scalars of a device that are not in the sums yet: reading many at once waits for the device once.
        self._waiting: list[tuple[str, torch.Tensor]] = []

    def add(self, name: str, value: Union[float, torch.Tensor]) -> None:
        """Counts `value`, a number or a scalar tensor, into the mean of `name`."""
        if isinstance(value, torch.Tensor):
            # As it is now: a parameter changes before it is read.
            self._waiting.append((name, value.detach().clone()))
            if len(self._waiting) >= _MOST_WAITING:
                self._read()
            return
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = [total + value, count + 1]

    def _read(self) -> None:
        """Brings what waits into the sums."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            values = torch.stack([value for _, value in waiting]).tolist()
            for (name, _), value in zip(waiting, values):
                self.add(name, value)

    def means(self, reset: bool = False) -> dict[str, float]:
        """
        # Parameters

        reset : `bool`, optional (default = `False`)
            Whether to forget the values afterwards. The means are then over all distributed workers, which must all
            call this.

        # Returns

        The mean of each name that was reported.
        """
        self._read()
        workers = gathered(self._sums) if reset else [self._sums]
        if reset:
            self._sums = {}
        sums: dict[str, list[float]] = {}
        for worker in workers:
            for name, (total, count) in worker.items():
                before = sums.get(name, (0.0, 0))
                sums[name] = [before[0] + total, before[1] + count]
        return {name: total / count for name, (total, count) in sums.items()}

    def state_dict(self) -> dict[str, list[float]]:
        """This worker's sums, plain values."""
        self._read()
        return {name: list(values) for name, values in self._sums.items()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        self._waiting = []
        self._sums = {name: list(values) for name, values in state.items()}
