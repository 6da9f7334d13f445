from typing import Dict, List

from seal.common.workers import gathered


class Monitors:
    """
    Running means of the values that training reports by name.

    The sums stay in each worker until they are reset. AllenNLP's `Average` exchanges every single value between
    workers, which hang where one of them reports a name that the others do not (after a batch without a predicate,
    for example).
    """

    def __init__(self) -> None:
        # By name: the sum and the number of values.
        self._sums: Dict[str, List[float]] = {}

    def add(self, name: str, value: float) -> None:
        """Counts `value` into the mean of `name`."""
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = [total + value, count + 1]

    def means(self, reset: bool = False) -> Dict[str, float]:
        """
        # Parameters

        reset : `bool`, optional (default = `False`)
            Whether to forget the values afterwards. The means are then over all distributed workers, which must all
            call this.

        # Returns

        The mean of each name that was reported.
        """
        workers = gathered(self._sums) if reset else [self._sums]
        if reset:
            self._sums = {}
        sums: Dict[str, List[float]] = {}
        for worker in workers:
            for name, (total, count) in worker.items():
                before = sums.get(name, (0.0, 0))
                sums[name] = [before[0] + total, before[1] + count]
        return {name: total / count for name, (total, count) in sums.items()}

    def state_dict(self) -> Dict[str, List[float]]:
        """This worker's sums, plain values."""
        return {name: list(values) for name, values in self._sums.items()}

    def load_state_dict(self, state: Dict[str, List[float]]) -> None:
        self._sums = {name: list(values) for name, values in state.items()}
