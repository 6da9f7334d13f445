"""Converts columns of ARFF files to features: encodes nominal values as 0 and 1, and replaces missing values."""

from collections.abc import Iterator, Sequence
from typing import Optional

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.files.matrices import Matrix, pieces
from seal.tasks.multilabel.arff import Attribute

# (no, yes), whatever their order in the file: Mulan's genbase lists {YES, NO}.
_PAIRS = (("no", "yes"), ("false", "true"), ("0", "1"))


def is_binary(attribute: Attribute) -> bool:
    """Whether the attribute is nominal with the values YES and NO, TRUE and FALSE or 1 and 0, in any case and order."""
    return attribute.kind == "nominal" and _place_of_yes(attribute) is not None


def _place_of_yes(attribute: Attribute) -> Optional[int]:
    """The index of "yes" in the list of a binary attribute, -1 if it lists only "no"; `None` if it is not binary."""
    lower = [value.lower() for value in attribute.values]
    for no, yes in _PAIRS:
        if sorted(lower) in ([no], [yes], [no, yes]):
            return lower.index(yes) if yes in lower else -1
    return None


class FeaturePlan:
    """
    Converts numeric and nominal attributes to features: a numeric attribute to one column, unchanged; a binary one to a
    column of 0 and 1; any other nominal one to a column of 0 and 1 for each value.

    # Parameters

    attributes : `Sequence[Attribute]`
        All attributes of a file.
    columns : `Sequence[int]`
        The columns that become features.

    # Attributes

    names : `list[str]`
        The names of the features.
    columns : `list[int]`
        The column in the file of each feature.
    """

    def __init__(self, attributes: Sequence[Attribute], columns: Sequence[int]) -> None:
        self.names: list[str] = []
        self.columns: list[int] = []
        # The code that becomes 1, for each feature that differs from its column's codes.
        self._ones: dict[int, int] = {}
        for column in columns:
            attribute, first = attributes[column], len(self.names)
            yes = _place_of_yes(attribute)
            if attribute.kind == "numeric":
                self.names.append(attribute.name)
            elif yes is not None:
                self.names.append(attribute.name)
                if yes != 1:
                    self._ones[first] = yes
            else:
                self.names += [f"{attribute.name}={value}" for value in attribute.values]
                self._ones.update((first + place, place) for place in range(len(attribute.values)))
            self.columns += [column] * (len(self.names) - first)

    def features_of(self, codes: Matrix) -> Matrix:
        """Converts codes `(rows, attributes)` to features `(rows, features)`: NaN if missing, sparse if codes are."""
        if sparse.issparse(codes):
            return self._of_sparse(codes)
        result = codes[:, self.columns]
        for feature, code in self._ones.items():
            result[:, feature] = _is_code(result[:, feature], code)
        return result

    def _of_sparse(self, codes: "sparse.csr_array") -> "sparse.csr_array":
        result = sparse.csc_array(codes)[:, self.columns]
        if self._ones:
            # Columns are made dense, since a value that a sparse row leaves out has code 0, which may mean "yes".
            parts, start = [], 0
            for feature, code in self._ones.items():
                parts.append(result[:, start:feature])
                parts.append(sparse.csc_array(_is_code(result[:, [feature]].toarray(), code)))
                start = feature + 1
            result = sparse.hstack([*parts, result[:, start:]], format="csc")
        result = sparse.csr_array(result)
        result.sort_indices()
        return result


def fill_missing(
    matrix: Matrix,
    names: Sequence[str],
    sources: Sequence[str],
    missing: str,
    means: Optional[numpy.ndarray],
) -> numpy.ndarray:
    """
    Replaces missing values in place.

    # Parameters

    matrix : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        NaN marks a missing value.
    names : `Sequence[str]`
        The names of the columns, for messages.
    sources : `Sequence[str]`
        `file:line` of the rows, for messages.
    missing : `str`
        `"mean"`, `"zero"` or `"error"`.
    means : `Optional[numpy.ndarray]`
        The replacements for `"mean"`. `None`: the means of the matrix's columns over the values that are not missing (0
        for a column without values).

    # Returns

    `numpy.ndarray`
        The means.

    # Raises

    `ConfigurationError` for the first missing value, with `"error"`.
    """
    # Summed in float64: the rows of a large file would round in float32.
    totals, absent = numpy.zeros(len(names)), numpy.zeros(len(names), dtype=numpy.int64)
    for start, values, columns in _pieces(matrix):
        holes = numpy.isnan(values)
        if holes.any():
            hole_columns = columns[holes]
            absent += numpy.bincount(hole_columns, minlength=len(names))
            if missing == "error":
                row = start + int(holes.nonzero()[0][0])
                if not isinstance(matrix, numpy.ndarray):
                    row = int(numpy.searchsorted(matrix.indptr, row, side="right")) - 1
                raise ConfigurationError(
                    f"{sources[row]}: the value of {names[hole_columns[0]]!r} is missing; set dataset_reader.missing "
                    "to 'zero', or to 'mean' and dataset_reader.statistics_from to the training file."
                )
        if isinstance(matrix, numpy.ndarray):
            totals += numpy.nansum(values, axis=0, dtype=numpy.float64)
        else:
            totals += numpy.bincount(columns, numpy.nan_to_num(values).astype(float), len(names))
    if means is None:
        means = (totals / numpy.maximum(len(sources) - absent, 1)).astype(numpy.float32)
    if absent.any():
        for _, values, columns in _pieces(matrix):
            holes = numpy.isnan(values)
            values[holes] = means[columns[holes]] if missing == "mean" else 0
    return means


def _pieces(matrix: Matrix) -> Iterator[tuple[int, numpy.ndarray, numpy.ndarray]]:
    """Yields pieces of the rows, or of the stored values: `(start, values, column of each value)`."""
    if isinstance(matrix, numpy.ndarray):
        columns = numpy.arange(matrix.shape[1])
        for start, end in pieces(*matrix.shape):
            part = matrix[start:end]
            yield start, part, numpy.broadcast_to(columns, part.shape)
    else:
        for start, end in pieces(len(matrix.data)):
            yield start, matrix.data[start:end], matrix.indices[start:end]


def _is_code(codes: numpy.ndarray, code: int) -> numpy.ndarray:
    return numpy.where(numpy.isnan(codes), codes, codes == code).astype(numpy.float32)
