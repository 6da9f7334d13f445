"""
Columns of an ARFF table as feature columns: nominal values as zeros and ones, missing values filled.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Optional

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.dataset_readers.arff_rows import Attribute
from seal.dataset_readers.growing_matrix import Matrix, pieces

# No, then yes. The words decide, and not their order in the file: Mulan's genbase lists {YES, NO}.
_PAIRS = (("no", "yes"), ("false", "true"), ("0", "1"))


def is_binary(attribute: Attribute) -> bool:
    """Whether the attribute is nominal with YES and NO, TRUE and FALSE or 1 and 0, in any case and order."""
    return attribute.kind == "nominal" and _pair(attribute) is not None


class FeaturePlan:
    """
    How columns of numeric or nominal attributes become features: a numeric attribute one column as it is, a binary one
    a column of 0 and 1, and any other nominal one a column for each value.

    # Parameters

    attributes : `Sequence[Attribute]`
        All of a file.
    columns : `Sequence[int]`
        The places of those that become features.

    # Attributes

    names : `list[str]`
        The features' names.
    """

    def __init__(self, attributes: Sequence[Attribute], columns: Sequence[int]) -> None:
        # Each feature is a column of codes: itself where `place` is None, else whether the code is `place`.
        self._plan: list[tuple[int, Optional[int]]] = []
        self.names: list[str] = []
        for column in columns:
            attribute = attributes[column]
            if attribute.kind == "numeric":
                self._plan.append((column, None))
                self.names.append(attribute.name)
            elif is_binary(attribute):
                # The place of "yes"; a list that lacks it never has that code.
                lower = [value.lower() for value in attribute.values]
                yes = _pair(attribute)[1]
                place = lower.index(yes) if yes in lower else -1
                self._plan.append((column, None if place == 1 else place))
                self.names.append(attribute.name)
            else:
                self._plan += [(column, place) for place in range(len(attribute.values))]
                self.names += [f"{attribute.name}={value}" for value in attribute.values]

    def features_of(self, codes: Matrix) -> Matrix:
        """Of codes, `(rows, features)`: NaN where a value is missing, sparse where the codes are."""
        if sparse.issparse(codes):
            return _sparse_columns(codes, self._plan)
        result = codes[:, [column for column, _ in self._plan]]
        for feature, (_, place) in enumerate(self._plan):
            if place is not None:
                result[:, feature] = _is_place(result[:, feature], place)
        return result


def fill_missing(
    matrix: Matrix,
    names: Sequence[str],
    sources: Sequence[str],
    missing: str,
    means: Optional[numpy.ndarray],
    write: Callable[[int, numpy.ndarray], None],
) -> numpy.ndarray:
    """
    Replaces missing values, piece by piece.

    # Parameters

    matrix : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        NaN where a value is missing.
    names : `Sequence[str]`
        The names of the columns, for messages.
    sources : `Sequence[str]`
        `file:line` of the rows, for messages.
    missing : `str`
        `"mean"`, `"zero"` or `"error"`.
    means : `Optional[numpy.ndarray]`
        The values to fill in with `"mean"`. `None`: the matrix's own means over the values that are not missing (0 for
        a column where all are missing).
    write : `Callable[[int, numpy.ndarray], None]`
        Puts values in the place of the matrix's rows, or stored values, from one on.

    # Returns

    `numpy.ndarray`
        The means.

    # Raises

    `ConfigurationError`
        At the first missing value with `"error"`.
    """
    # Summed in float64: the rows of a large file would round in float32.
    totals, absent = numpy.zeros(len(names)), numpy.zeros(len(names), dtype=numpy.int64)
    for start, values, columns in _pieces(matrix):
        holes = numpy.isnan(values)
        if holes.any():
            of_hole = columns[holes] if columns is not None else holes.nonzero()[1]
            absent += numpy.bincount(of_hole, minlength=len(names))
            if missing == "error":
                place = start + int(holes.nonzero()[0][0])
                row = place if columns is None else int(numpy.searchsorted(matrix.indptr, place, side="right")) - 1
                raise ConfigurationError(
                    f"{sources[row]}: the value of {names[of_hole[0]]!r} is missing; set dataset_reader.missing to "
                    "'zero', or to 'mean' and dataset_reader.statistics_from to the training file."
                )
        if columns is None:
            totals += numpy.nansum(values, axis=0, dtype=numpy.float64)
        else:
            totals += numpy.bincount(columns, numpy.nan_to_num(values).astype(float), len(names))
    if means is None:
        means = (totals / numpy.maximum(len(sources) - absent, 1)).astype(numpy.float32)
    if absent.any():
        for start, values, columns in _pieces(matrix):
            holes = numpy.isnan(values)
            if holes.any():
                of_hole = columns[holes] if columns is not None else holes.nonzero()[1]
                filled = values.copy()
                filled[holes] = means[of_hole] if missing == "mean" else 0
                write(start, filled)
    return means


def _pieces(matrix: Matrix) -> Iterator[tuple[int, numpy.ndarray, Optional[numpy.ndarray]]]:
    """Pieces of the rows, or of the stored values with their columns, each with the place where it begins."""
    if sparse.issparse(matrix):
        for start, end in pieces(len(matrix.data)):
            yield start, matrix.data[start:end], matrix.indices[start:end]
    else:
        for start, end in pieces(*matrix.shape):
            yield start, matrix[start:end], None


def _pair(attribute: Attribute) -> Optional[tuple[str, str]]:
    lower = [value.lower() for value in attribute.values]
    fits = (pair for pair in _PAIRS if len(set(lower)) == len(lower) and set(lower) <= set(pair))
    return next(fits, None)


def _is_place(codes: numpy.ndarray, place: int) -> numpy.ndarray:
    return numpy.where(numpy.isnan(codes), codes, codes == place).astype(numpy.float32)


def _sparse_columns(codes: sparse.csr_array, plan: Sequence[tuple[int, Optional[int]]]) -> sparse.csr_array:
    by_column = sparse.csc_array(codes)
    result = by_column[:, [column for column, _ in plan]]
    changed = {feature: place for feature, (_, place) in enumerate(plan) if place is not None}
    if changed:
        # Whole columns of codes, and not only the stored entries: a value that a sparse row leaves out has code 0,
        # which may be a yes.
        parts, start = [], 0
        for feature, place in changed.items():
            parts.append(result[:, start:feature])
            column = _is_place(result[:, [feature]].toarray(), place)
            parts.append(sparse.csc_array(column))
            start = feature + 1
        result = sparse.hstack(parts + [result[:, start:]], format="csc")
    result = sparse.csr_array(result)
    result.sort_indices()
    return result
