"""
Columns of an ARFF table as feature columns: nominal values as zeros and ones, missing values filled.
"""

from collections.abc import Sequence
from typing import Optional

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.dataset_readers.arff import ArffTable
from seal.dataset_readers.arff_rows import Attribute
from seal.dataset_readers.tensor_table import Matrix

# No, then yes. The words decide, and not their order in the file: Mulan's genbase lists {YES, NO}.
_PAIRS = (("no", "yes"), ("false", "true"), ("0", "1"))


def is_binary(attribute: Attribute) -> bool:
    """Whether the attribute is nominal with YES and NO, TRUE and FALSE or 1 and 0, in any case and order."""
    return attribute.kind == "nominal" and _pair(attribute) is not None


def feature_columns(table: ArffTable, columns: Sequence[int]) -> tuple[Matrix, list[str]]:
    """
    The columns of numeric or nominal attributes as features.

    # Returns

    `tuple[Union[numpy.ndarray, scipy.sparse.csr_array], list[str]]`
        A matrix of shape (rows, features), NaN where a value is missing, sparse where the table is; and the features'
        names. A numeric attribute becomes one column as it is, a binary one a column of 0 and 1, and any other
        nominal one a column for each value.
    """
    # Each feature is a column of codes: itself where `place` is None, else whether the code is `place`.
    plan: list[tuple[int, Optional[int]]] = []
    names: list[str] = []
    for column in columns:
        attribute = table.attributes[column]
        if attribute.kind == "numeric":
            plan.append((column, None))
            names.append(attribute.name)
        elif is_binary(attribute):
            # The place of "yes"; a list that lacks it never has that code.
            lower = [value.lower() for value in attribute.values]
            yes = _pair(attribute)[1]
            place = lower.index(yes) if yes in lower else -1
            plan.append((column, None if place == 1 else place))
            names.append(attribute.name)
        else:
            plan += [(column, place) for place in range(len(attribute.values))]
            names += [f"{attribute.name}={value}" for value in attribute.values]
    if sparse.issparse(table.codes):
        return _sparse_columns(table.codes, plan), names
    result = table.codes[:, [column for column, _ in plan]]
    for feature, (_, place) in enumerate(plan):
        if place is not None:
            result[:, feature] = _is_place(result[:, feature], place)
    return result, names


def fill_missing(
    matrix: Matrix,
    names: Sequence[str],
    sources: Sequence[str],
    missing: str,
    means: Optional[numpy.ndarray] = None,
) -> tuple[Matrix, numpy.ndarray]:
    """
    Replaces missing values.

    # Parameters

    matrix : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        NaN where a value is missing; changed in place.
    names : `Sequence[str]`
        The names of the columns, for messages.
    sources : `Sequence[str]`
        `file:line` of the rows, for messages.
    missing : `str`
        `"mean"`, `"zero"` or `"error"`.
    means : `Optional[numpy.ndarray]`
        The values to fill in with `"mean"`. `None`: the matrix's own means over the values that are not missing (0 for
        a column where all are missing).

    # Returns

    `tuple[Union[numpy.ndarray, scipy.sparse.csr_array], numpy.ndarray]`
        The matrix without NaN, and the means.

    # Raises

    `ConfigurationError`
        At the first missing value with `"error"`.
    """
    if sparse.issparse(matrix):
        values, columns = matrix.data, matrix.indices
        holes = numpy.flatnonzero(numpy.isnan(values))
        rows, of_hole = numpy.searchsorted(matrix.indptr, holes, side="right") - 1, columns[holes]
    else:
        values, columns = matrix, None
        rows, of_hole = holes = numpy.nonzero(numpy.isnan(values))
    if missing == "error" and len(rows):
        raise ConfigurationError(
            f"{sources[rows[0]]}: the value of {names[of_hole[0]]!r} is missing; set dataset_reader.missing to 'zero', "
            "or to 'mean' and dataset_reader.statistics_from to the training file."
        )
    if means is None:
        # Summed in float64: the rows of a large file would round in float32.
        if columns is None:
            totals = numpy.nansum(values, axis=0, dtype=numpy.float64)
        else:
            totals = numpy.bincount(columns, numpy.nan_to_num(values).astype(float), len(names))
        present = len(sources) - numpy.bincount(of_hole, minlength=len(names))
        means = (totals / numpy.maximum(present, 1)).astype(numpy.float32)
    values[holes] = means[of_hole] if missing == "mean" else 0
    return matrix, means


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
