from collections.abc import Sequence
from typing import Union, overload

import numpy


class RowSources(Sequence[str]):
    """
    `file:line` of each row of a split, made of the numbers when it is asked for.

    # Parameters

    files : `Sequence[str]`
    rows_of_files : `numpy.ndarray`, `(files,)`
        How many rows each file has.
    lines : `numpy.ndarray`, `(rows,)`
        The line of each row.
    """

    def __init__(self, files: Sequence[str], rows_of_files: numpy.ndarray, lines: numpy.ndarray) -> None:
        self._files, self._ends, self._lines = list(files), numpy.cumsum(rows_of_files), lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: Union[int, slice]) -> Union[str, list[str]]:
        if isinstance(row, slice):
            return [self[place] for place in range(len(self))[row]]
        place = range(len(self))[row]
        return f"{self._files[int(numpy.searchsorted(self._ends, place, side='right'))]}:{self._lines[place]}"
