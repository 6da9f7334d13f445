import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from scipy import sparse

from seal.dataset_readers import tensor_table
from seal.dataset_readers.named_columns import NamedColumns
from seal.dataset_readers.tensor_table import TensorTable

#: Four rows of three columns.
VALUES = numpy.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.5, 3.0, 0.0], [0.0, 4.0, 5.0]])
FORMS = {"dense": numpy.array, "csr": sparse.csr_array, "integers": lambda values: (2 * values).astype(numpy.int8)}


def table(values, names="a b c"):
    columns = NamedColumns(names.split(), "attributes", "attribute", "a.arff")
    return TensorTable({"features": values}, {"features": columns}, [f"a.arff:{row}" for row in range(len(VALUES))])


def vocabulary(names="a b c"):
    return Vocabulary(non_padded_namespaces=["attributes"], tokens_to_add={"attributes": names.split()})


@pytest.mark.parametrize("most_bytes", [2**30, 0], ids=["held dense", "held sparse"])
@pytest.mark.parametrize("form", FORMS)
def test_rows_in_the_order_asked_for(form, most_bytes, monkeypatch):
    monkeypatch.setattr(tensor_table, "DENSE_BYTES", most_bytes)
    rows = table(FORMS[form](VALUES))
    assert len(rows) == 4
    batch = rows.batch(numpy.array([3, 0, 3]))
    expected = torch.tensor(VALUES[[3, 0, 3]]) * (2 if form == "integers" else 1)
    assert batch["features"].dtype == torch.float32 and torch.equal(batch["features"], expected.float())


@pytest.mark.parametrize("most_bytes", [2**30, 0], ids=["held dense", "held sparse"])
def test_columns_in_the_order_of_the_vocabulary(most_bytes, monkeypatch):
    monkeypatch.setattr(tensor_table, "DENSE_BYTES", most_bytes)
    rows = table(sparse.csr_array(VALUES))
    # Twice: what is in order already stays.
    for _ in range(2):
        rows.index_with(vocabulary("c a b"))
        assert rows.columns["features"].names == ["c", "a", "b"]
        assert torch.equal(rows.batch(numpy.arange(4))["features"], torch.tensor(VALUES[:, [2, 0, 1]]).float())


@pytest.mark.parametrize("names, word", [("a b", "'c' is not among"), ("a b c d", "'d' is missing")])
def test_columns_that_the_vocabulary_lacks_or_has_more_of(names, word):
    with pytest.raises(ConfigurationError, match=f"a.arff: the attribute {word}"):
        table(VALUES).index_with(vocabulary(names))


def test_a_batch_is_a_copy():
    rows = table(VALUES)
    rows.batch(numpy.array([0]))["features"].zero_()
    assert rows.batch(numpy.array([0]))["features"].tolist() == [[1, 0, 2]]
