
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
        self._sums: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        """Counts `value` into the mean of `name`."""
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = [total + value, count + 1]

    def means(self, reset: bool = False) -> dict[str, float]:
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
        sums: dict[str, list[float]] = {}
        for worker in workers:
            for name, (total, count) in worker.items():
                before = sums.get(name, (0.0, 0))
                sums[name] = [before[0] + total, before[1] + count]
        return {name: total / count for name, (total, count) in sums.items()}

    def state_dict(self) -> dict[str, list[float]]:
        """This worker's sums, plain values."""
        return {name: list(values) for name, values in self._sums.items()}

    def load_state_dict(self, state: dict[str, list[float]]) -> None:
        self._sums = {name: list(values) for name, values in state.items()}
