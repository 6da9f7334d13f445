import numpy
import pytest

from seal.tasks.multilabel.data_files import read_multilabel

HEADER = "@relation r\n@attribute w real\n@attribute wet {0,1}\n@attribute id string\n@attribute red {0,1}\n"
HEADER += "@attribute big {0,1}\n@data\n"


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.csv", "w,wet,id,red,big\n0.5,1,a,1,0\n-3,0,b,0,1\n,1,c,0,0\n"),
        ("a.csv", ",w,wet,id,red,big\n0,0.5,True,a,1.0,no\n1,-3e0,False,b,0.0,yes\n2,NaN,true,c,0.0,no\n"),
        ("a.csv.gz", 'w;wet;id;red;big\r\n"0.5";1;"a;b";1;0\r\n-3;0;b;0;1\r\nNA;1;c;0;0\r\n'),
    ],
    ids=["plain", "pandas", "semicolons"],
)
def test_a_table_is_read_as_arff(write, name, content):
    arff = write("a.arff", HEADER + "0.5,1,a,1,0\n-3,0,b,0,1\n?,1,c,0,0\n")
    settings = {"labels": ["big", "red"], "drop_attributes": ["id"]}
    expected, found = (read_multilabel(path, **settings) for path in (arff, write(name, content)))
    assert found.feature_names == expected.feature_names == ["w", "wet"]
    assert found.label_names == expected.label_names == ["big", "red"]
    numpy.testing.assert_array_equal(found.features, expected.features)
    numpy.testing.assert_array_equal(found.labels.toarray(), expected.labels.toarray())
    assert found.features[2, 0] == -1.25  # The mean of the column.
    assert [source.rpartition(":")[2] for source in found.source] == ["2", "3", "4"]
