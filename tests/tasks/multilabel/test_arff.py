import gzip
import re
import unicodedata

import numpy
from allennlp.common.checks import ConfigurationError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from seal.tasks.multilabel.arff import read_arff

HEADER = "@relation r\n@attribute a numeric\n@attribute b {x,'y z',0}\n@attribute c {0,1}\n@data\n"
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def table_of(path, *args):
    """The one piece of a small file."""
    (table,) = read_arff(path, *args)
    return table


def dense(table):
    return table.codes.toarray() if sparse.issparse(table.codes) else table.codes


def test_reads_dense_rows_of_every_kind(write):
    text = (
        "% a comment\n\n@RELATION 'my \\'data\\': -C 2'\n"
        "@Attribute plain REAL   % why\n"
        "@attribute 'with space' integer\n"
        '@attribute "say \\"hi\\", %d" Numeric\n'
        "@attribute 50%_x {'it\\'s', \"b,c\", d e}\n"
        "@attribute m\\'usica\tstring\n"
        "@attribute class hierarchical a,a/b, c\n"
        "  @DATA\n"
        "1, -2.5e-1 ,\t.5, 'it\\'s', 'tab\\tand \\\\', a/b@c\n"
        "% between\n"
        '?,+3,4.,"b,c",?,c % after\n'
        "0,1e2,-0,d e,'?',a\r\n"
        "0,1,2,'b,c','',a\n"
        "0,1,2,'b,c',don't,a % it's 5%\n"
    )
    table = table_of(write("d.arff", text))
    assert table.relation == "my 'data': -C 2"
    assert [a.name for a in table.attributes] == [
        "plain", "with space", 'say "hi", %d', "50%_x", "m\\'usica", "class",
    ]  # fmt: skip
    assert [a.kind for a in table.attributes] == ["numeric"] * 3 + ["nominal", "string", "hierarchical"]
    assert table.attributes[3].values == ("it's", "b,c", "d e")
    assert table.attributes[5].values == ("a", "a/b", "c")
    assert [a.line for a in table.attributes] == [4, 5, 6, 7, 8, 9]
    assert table.texts == {4: ["", "tab\tand \\", "?", "don't"], 5: ["", "a/b@c", "c", "a"]}
    nan = numpy.nan
    expected = [
        [1, -0.25, 0.5, 0, 1, 1], [nan, 3, 4, 1, nan, 2], [0, 100, 0, 2, 2, 3], [0, 1, 2, 1, 0, 3],
        [0, 1, 2, 1, 3, 3],
    ]  # fmt: skip
    numpy.testing.assert_array_equal(table.codes, numpy.array(expected, numpy.float32))
    assert table.codes.dtype == numpy.float32 and table.lines.tolist() == [11, 13, 14, 15, 16]


def test_reads_dates_as_texts_and_ignores_ranges(write):
    text = (
        "@attribute d date \"yyyy-MM-dd HH:mm, 'o''clock'\"\n@attribute e DATE\n@attribute a real [0,1]\n"
        "@attribute b Integer[ -1 , 1e3 ]\n@data\n'2020-01-02 03:04, x',2021-05-06,0.5,7\n?,?,2,-3\n"
    )
    table = table_of(write("d.arff", text))
    assert [a.kind for a in table.attributes] == ["date", "date", "numeric", "numeric"]
    assert table.texts == {0: ["", "2020-01-02 03:04, x"], 1: ["", "2021-05-06"]}
    assert dense(table)[:, 2:].tolist() == [[0.5, 7], [2, -3]]


def test_reads_sparse_rows(write):
    rows = "{ }\n{}\n{ 0 2.5 , 2 1 }\n{2 1,1 'y z'}\n{0 ?,1 0}\n{1 ?}\n1,x,1\n{02 1.0}\n"
    table = table_of(write("d.arff", HEADER + rows))
    nan = numpy.nan
    expected = [[0, 0, 0], [0, 0, 0], [2.5, 0, 1], [0, 1, 1], [nan, 2, 0], [0, nan, 0], [1, 0, 1], [0, 0, 1]]
    assert sparse.issparse(table.codes) and table.codes.dtype == numpy.float32
    assert table.codes.has_sorted_indices
    numpy.testing.assert_array_equal(table.codes.toarray(), expected)


def test_reads_packed_files_and_a_byte_order_mark(write):
    packed = write("d.arff.gz", gzip.compress((HEADER + "1,x,0\n").encode()))
    marked = write("e.arff", "\ufeff" + HEADER + "1,x,0")
    assert dense(table_of(packed)).tolist() == dense(table_of(marked)).tolist() == [[1, 0, 0]]


NAMES = st.sampled_from(["don't", "o'clock", '5"', "a, %b", "it's % \\"]) | st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8
).filter(
    # No control character at an end.
    lambda text: "Cc" not in map(unicodedata.category, text[0] + text[-1])
)
NUMBERS = st.floats(-1e6, 1e6, width=32) | st.integers(-50, 50).map(float)


def quote(draw, text):
    """Bare where ARFF can have it bare, and in either quotes."""
    if re.fullmatch(r"[a-z0-9_][a-z0-9_'\"%]*", text) and draw(st.booleans()):
        return text
    mark = draw(st.sampled_from("'\""))
    for raw, escaped in (("\\", "\\\\"), (mark, "\\" + mark), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(raw, escaped)
    return mark + text + mark


@st.composite
def files(draw):
    """An ARFF text, and what it must be read as: names, kinds, and rows of plain Python values."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    kinds, lines = [], ["@relation r"]
    for name in names:
        listed = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
        kind = draw(st.sampled_from(["numeric", "string", listed, ["0", "1"]]))
        kinds.append(kind)
        word = kind if isinstance(kind, str) else "{" + ", ".join(quote(draw, v) for v in kind) + "}"
        lines.append(f"{draw(st.sampled_from(['@attribute', '@ATTRIBUTE']))} {quote(draw, name)}\t{word}")
    lines.append("@data")
    value = {"numeric": NUMBERS, "string": NAMES}
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        row = [draw(st.none() | (value[kind] if isinstance(kind, str) else st.sampled_from(kind))) for kind in kinds]
        written = ["?" if v is None else repr(v) if isinstance(v, float) else quote(draw, v) for v in row]
        if draw(st.booleans()):
            zero = [0.0 if k == "numeric" else "" if k == "string" else k[0] for k in kinds]
            kept = [i for i in range(len(row)) if row[i] != zero[i] or draw(st.booleans())]
            lines.append("{" + ",".join(f"{i} {written[i]}" for i in draw(st.permutations(kept))) + "}")
        else:
            lines.append(draw(st.sampled_from([",", ", ", " ,\t"])).join(written))
        lines[-1] += draw(st.sampled_from(["", " % it's", "\t% 'a', \"b"]))
        rows.append(row)
    return "\n".join(lines), names, kinds, rows


def decoded(table):
    """The rows of a table as plain Python values."""
    rows = []
    for codes in dense(table).tolist():
        row = []
        for column, (attribute, code) in enumerate(zip(table.attributes, codes)):
            if code != code:
                row.append(None)
            elif attribute.kind == "numeric":
                row.append(code)
            else:
                row.append((attribute.values or table.texts[column])[int(code)])
        rows.append(row)
    return rows


@QUICK
@given(files())
def test_round_trip(write, file):
    text, names, kinds, rows = file
    table = table_of(write("d.arff", text))
    assert [a.name for a in table.attributes] == names
    assert [a.kind if a.kind != "nominal" else list(a.values) for a in table.attributes] == kinds
    assert decoded(table) == rows


PLAIN = (
    "@relation r\n@attribute a real\n@attribute b {0,1}\n@attribute c {x,yy}\n@attribute d numeric\n@data\n"
    "{0 12.5,1 1,2 yy,3 -7}\n{1 1}\n0.25,1,x,?\n{}\n{0 3,3 1e2}\n4,0,yy,5\n"
)


def plainly(text):
    """A slow, obvious reading of what `PLAIN` can be damaged into, without quotes, comments or escapes."""
    head, body = re.split(r"(?im)^\s*@data\b[^\n]*\n?", text, maxsplit=1)
    kinds = []
    for line in head.split("\n"):
        if line.strip().lower().startswith("@attribute"):
            kind = re.fullmatch(r"\s*@attribute\s+[^\s{]+\s*(.*?)\s*", line, re.I)[1]
            kinds.append([v.strip() for v in kind[1:-1].split(",")] if kind[0] == "{" else None)
    rows = []
    for line in filter(None, map(str.strip, body.split("\n"))):
        if line[0] == "{":
            cells = {column: "0" if kind is None else kind[0] for column, kind in enumerate(kinds)}
            inner = line[1:-1].strip()
            given_cells = [cell.split(None, 1) for cell in inner.split(",")] if inner else []
            assert len({int(column) for column, _ in given_cells}) == len(given_cells)
            cells.update({int(column): value.strip() for column, value in given_cells})
        else:
            cells = dict(enumerate(cell.strip() for cell in line.split(",")))
        assert sorted(cells) == list(range(len(kinds)))
        row = []
        for column, kind in enumerate(kinds):
            value = cells[column]
            if value == "?":
                row.append(None)
            elif kind is None:
                row.append(float(numpy.float32(float(value))))
            else:
                row.append(value if value in kind else kind[int(float(value))])
        rows.append(row)
    return rows


@QUICK
@given(st.data())
def test_damage_is_read_as_it_stands_or_refused(write, data):
    text = PLAIN
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text) - 1))
        end = min(len(text), start + data.draw(st.integers(0, 3)))
        put = data.draw(st.text("0159.-+e{}, ?xy\t\n@anif_", max_size=3))
        text = text[:start] + put + text[end:]
    path = write("d.arff", text)
    try:
        table = table_of(path)
    except ConfigurationError as error:
        assert re.match(re.escape(path) + r":\d+: .*\.$", error.message)
    else:
        assert decoded(table) == plainly(text)


@QUICK
@given(st.integers(0, 400), st.binary(min_size=1, max_size=6), st.booleans())
@example(0, b"\x1f\x8b", False)
@example(0, b"BZh", False)
def test_any_bytes_are_read_or_refused(write, start, put, packed):
    body = gzip.compress(PLAIN.encode(), mtime=0) if packed else PLAIN.encode()
    start %= len(body)
    path = write("d.arff.gz" if packed else "d.arff", body[:start] + put + body[start + len(put) :])
    try:
        table = table_of(path)
    except ConfigurationError as error:
        # The name must tell a file that begins as packed files do, or as no text does; all else stands in a line.
        whole = r"a packed file; its name must end in '\.\w+'|no text in UTF-8; save its content as that"
        assert re.match(re.escape(path) + rf"(:\d+: |: this is ({whole})\.$)", error.message)
    else:
        assert table.codes.shape == (len(table.lines), len(table.attributes))


@QUICK
@given(st.lists(st.tuples(st.integers(0, 3), NUMBERS), max_size=4, unique_by=lambda pair: pair[0]))
def test_the_fast_way_agrees_with_the_slow_one(write, pairs):
    """Numbers in quotes are read the slow way."""
    head = "".join(f"@attribute a{i} real\n" for i in range(4)) + "@data"
    rows = [",".join(f"{column} {mark}{value!r}{mark}" for column, value in sorted(pairs)) for mark in ("", "'")]
    fast, slow = dense(table_of(write("d.arff", f"{head}\n{{{rows[0]}}}\n{{{rows[1]}}}\n")))
    numpy.testing.assert_array_equal(fast, slow)


def test_listed_numerals_that_are_not_their_own_places(write):
    head = "@attribute a {1,2,3}\n@attribute b {1,0}\n@data\n"
    table = table_of(write("d.arff", head + "2,0\n1,1\n{0 3,1 0}\n"))
    assert table.codes.toarray().tolist() == [[1, 1], [0, 0], [2, 1]]
