import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats.labelled_text import once_each


def test_each_once_in_their_order():
    assert once_each(iter(["b", "a", "b"]), "x.jsonl:3") == ["b", "a"] and once_each([], "x.jsonl:3") == []


@pytest.mark.parametrize("name", ["", "  ", " toy", "toy "])
def test_what_is_no_label(name):
    with pytest.raises(ConfigurationError, match="^x.jsonl:3: the label "):
        once_each(["toy", name], "x.jsonl:3")
