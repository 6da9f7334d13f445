import gzip
import json

import pytest
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_formats import FORMATS, TextOptions, format_of

BOOK = '<book date="2018-08-18" xml:lang="en">\n<title>A</title>\n'


@pytest.mark.parametrize(
    "name, content, expected",
    [
        ("a.jsonl", "", "json_lines"),
        ("a.json.gz", "", "json_lines"),
        ("a.tsv", "", "tsv"),
        ("lyrl2004_tokens_train.dat", "", "lyrl"),
        ("text_train", "", "line_pairs"),
        ("books.txt", "\n" + BOOK, "blurbs"),
        ("notes.txt", '\n{"text": "a"}\n', "json_lines"),
    ],
)
def test_format_by_name_or_first_line(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    assert format_of(str(path)) == expected and expected in FORMATS


def test_tsv_with_a_list_of_labels_has_numbers():
    assert format_of("a.tsv.gz", TextOptions(label_names=["a"])) == "indexed_tsv"


def test_a_format_that_cannot_be_told(tmp_path):
    (tmp_path / "notes.txt").write_text("a text\n")
    with pytest.raises(ConfigurationError, match="notes.txt: neither its name .* set dataset_reader.format to one of"):
        format_of(str(tmp_path / "notes.txt"))


def test_every_format_reads_the_same_texts(tmp_path):
    """What the formats have in common: two texts, the second with two labels."""
    texts, labels = ["wind and rain", "sun"], [["storm"], ["heat", "drought"]]
    names = ["heat", "storm", "drought"]
    write = {
        "a.jsonl": "".join(json.dumps({"text": t, "labels": ls}) + "\n" for t, ls in zip(texts, labels)),
        "numbers.tsv": "wind and rain\t1\tx7\nsun\t0,2\tx8\n",
        "names.tsv": "wind and rain\tstorm\nsun\theat,drought\n",
        "a.csv": 'text,labels\nwind and rain,storm\nsun,"heat,drought"\n',
        "text_a": "wind and rain\nsun\n",
        "label_a": "storm\nheat drought\n",
        "a.dat": ".I 7\n.W\nwind and\nrain\n\n.I 8\n.W\nsun\n",
        "rcv1-v2.topics.qrels": "heat 8 1\nstorm 7 1\ndrought 8 1\n",
        "a.txt": "".join(
            f"<book>\n<body>{t}</body>\n<topics>{''.join(f'<d0>{name}</d0>' for name in ls)}</topics>\n</book>\n"
            for t, ls in zip(texts, labels)
        ),
    }
    for name, content in write.items():
        (tmp_path / name).write_text(content)
    formats = []
    for name in ("a.jsonl", "a.csv", "names.tsv", "numbers.tsv", "text_a", "a.dat", "a.txt"):
        path, options = str(tmp_path / name), TextOptions(label_names=names if name == "numbers.tsv" else None)
        formats.append(format_of(path, options))
        found = list(FORMATS[formats[-1]](path, options))
        assert [(text.text, text.labels) for text in found] == list(zip(texts, labels)), name
        assert all(text.source.startswith(path + ":") for text in found)
        assert found[0].words == ["wind", "and", "rain"]
    assert sorted(formats) == sorted(FORMATS)
