import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seal.common.tag_encodings import first_broken, tags_to_spans
from seal.tasks.srl.conllu import is_conllu, read_conllu
from seal.tasks.srl.frames import SrlFrame

# The sentence "The cook who left gives her bread" with frames and roles behind all columns of CoNLL-U.
BEHIND = """\
# sent_id = 1
# text = The cook who left gives her bread
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\t_\t_\t_
2\tcook\tcook\tNOUN\tNN\t_\t5\tnsubj\t_\t_\t_\tA0\tA0
3\twho\twho\tPRON\tWP\t_\t4\tnsubj\t_\t_\t_\tR-A0\t_
4\tleft\tleave\tVERB\tVBD\t_\t2\tacl:relcl\t_\t_\tleave.01\t_\t_
5\tgives\tgive\tVERB\tVBZ\t_\t0\troot\t_\t_\tgive.01\t_\t_
6\ther\tshe\tPRON\tPRP\t_\t7\tdet\t_\t_\t_\t_\t_
7\tbread\tbread\tNOUN\tNN\t_\t5\tobj\t_\t_\t_\t_\tA1
"""
HEADS = [["O", "B-A0", "B-R-A0", "B-V", "O", "O", "O"], ["O", "B-A0", "O", "O", "B-V", "O", "B-A1"]]
# The relative clause is no part of what leaves, and is one of what gives.
SUBTREES = [
    ["B-A0", "I-A0", "B-R-A0", "B-V", "O", "O", "O"],
    ["B-A0", "I-A0", "I-A0", "I-A0", "B-V", "B-A1", "I-A1"],
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def conllu(text, role_spans="head"):
    with open("a", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return list(read_conllu("a", role_spans))


def as_version_1(text):
    """A mark and the frame in the place of DEPS and MISC, as Universal PropBank 1.0 has them."""
    rows = []
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) > 10:
            cells[8:11] = ["_" if cells[10] == "_" else "Y", cells[10]]
        rows.append("\t".join(cells))
    return "\n".join(rows) + "\n"


def as_conll2009(text):
    """Columns by hand and predicted, a mark, and the frame in front of the roles."""
    rows = []
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) > 10:
            frame = cells[10]
            twice = [cell for cell in (cells[2], cells[3], cells[5], cells[6], cells[7]) for _ in range(2)]
            cells = [*cells[:2], *twice, "_" if frame == "_" else "Y", frame, *cells[11:]]
        rows.append("\t".join(cells))
    # A sentence without frames first, whose columns tell the layout by its heads alone.
    return (
        "1"
        + "\tHm" * 3
        + "\tX" * 2
        + "\t_" * 2
        + "\t0" * 2
        + "\tROOT" * 2
        + "\t_" * 2
        + "\n\n"
        + "\n".join(rows)
        + "\n"
    )


@pytest.mark.parametrize("role_spans, tags", [("head", HEADS), ("subtree", SUBTREES)])
def test_roles_of_conll2009(role_spans, tags):
    bare, sentence = conllu(as_conll2009(BEHIND), role_spans)
    assert (bare.words, bare.frames) == (["Hm"], [])
    assert sentence.frames == [SrlFrame(3, tags[0], "leave", "01"), SrlFrame(4, tags[1], "give", "01")]


@pytest.mark.parametrize("layout", [str, as_version_1])
@pytest.mark.parametrize("role_spans, tags", [("head", HEADS), ("subtree", SUBTREES)])
def test_roles_of_universal_propbank(layout, role_spans, tags):
    (sentence,) = conllu(layout(BEHIND), role_spans)
    assert sentence.words == "The cook who left gives her bread".split() and sentence.source == "a:3"
    assert sentence.frames == [SrlFrame(3, tags[0], "leave", "01"), SrlFrame(4, tags[1], "give", "01")]


# Spanish and Portuguese files of version 1.0: a sentence without frames has two columns less, and a multi-word token no
# columns of roles.
UP_1 = """\
1\tHola\thola\tINTJ\t_\t_\t0\troot\t_\t_

# sent_id = 2
1\tAna\tAna\tPROPN\t_\t_\t2\tnsubj\t_\t_\tA0\tA0
2\tquer\tquerer\tVERB\t_\t_\t0\troot\tY\tquerer.01\t_\t_
3-4\tvendê-lo\t_\t_\t_\t_\t_\t_\t_\t_
3\tvender\tvender\tVERB\t_\t_\t2\txcomp\tY\tvender.01\tA1\t_
4\tlo\tele\tPRON\t_\t_\t3\tdobj\t_\t_\t_\tA1

1\tAna\tAna\tPROPN\t_\t_\t0\troot\t_\t_
"""


def test_version_1_has_a_mark_in_the_row_of_each_predicate():
    first, second, third = conllu(UP_1)
    assert second.words == ["Ana", "quer", "vender", "lo"] and second.source == "a:4"
    assert second.frames == [
        SrlFrame(1, ["B-A0", "B-V", "B-A1", "O"], "querer", "01"),
        SrlFrame(2, ["B-A0", "O", "B-V", "B-A1"], "vender", "01"),
    ]
    assert first.frames == third.frames == []
    (_, by_tree, _) = conllu(UP_1, "subtree")
    assert by_tree.frames[0].tags == ["B-A0", "B-V", "B-A1", "I-A1"]


def test_a_treebank_without_roles_has_no_frames():
    text = (
        "1\tAna\tAna\tPROPN\t_\tGender=Fem\t2\tnsubj\t2:nsubj\tSpaceAfter=No\n2\tri\trir\tVERB\t_\t_\t0\troot\t_\t_\n"
    )
    (sentence,) = conllu(text)
    assert sentence.words == ["Ana", "ri"] and sentence.frames == []


def test_what_column_8_and_9_hold_in_a_treebank_is_no_frame():
    cells = BEHIND.replace("\tnsubj\t_\t_", "\tnsubj\t5:nsubj\tSpaceAfter=No").replace("\tobj\t_\t_", "\tobj\t_\tx.01")
    assert conllu(cells)[0].frames == conllu(BEHIND)[0].frames


def as_version_2(text, names=True):
    """All roles of a predicate in its row; without the names of columns, as files that are merged by hand."""
    lines = text.splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    order = [place for place, row in enumerate(cells) if row[10] != "_"]
    rows = []
    for place, row in enumerate(cells):
        of = 11 + order.index(place) if place in order else None
        roles = [f"{other[of]}:{other[0]}" for other in cells if other[of] not in ("_", "V")] if of else []
        spans = "|".join(f"{role.partition(':')[0]}:1-1" for role in roles)
        rows.append("\t".join([*row[:11], "|".join(roles) or "_", spans or "_"]))
    head = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS UP:ARGSPANS"
    return "\n".join([head] * names + rows) + "\n"


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("role_spans", ["head", "subtree"])
def test_both_versions_have_the_same_frames(names, role_spans):
    assert conllu(as_version_2(BEHIND, names), role_spans)[0].frames == conllu(BEHIND, role_spans)[0].frames


def test_rows_that_are_no_words_columns_by_name_and_a_verb_that_is_marked():
    rows = [
        "# global.columns = ID FORM HEAD UP:FLAG UP:PRED UP:FRAME", "1-2\tab\t_\t_\t_\t_", "1\ta b\t2\t_\t_\t_",
        "2\tc\t0\tY\tgo.02\tV", "3\td\t2\t_\t_\tA1", "3.1\t_\t_\t_\t_\t_", "", "", "# text = e", "1\te\t0\t_\t_\t_",
    ]  # fmt: skip
    first, second = conllu("\r\n".join(rows))
    assert first.words == ["a b", "c", "d"] and first.frames == [SrlFrame(1, ["O", "B-V", "B-A1"], None, "02")]
    assert second.words == ["e"] and second.frames == []


@st.composite
def propbanks(draw):
    """A sentence with a tree of dependencies and frames: the text of version 1.0, its heads and its roles."""
    length = draw(st.integers(1, 7))
    order = draw(st.permutations(range(length)))
    above = [-1] * length
    for place, word in enumerate(order[1:], start=1):
        above[word] = order[draw(st.integers(0, place - 1))]
    predicates = sorted(draw(st.sets(st.integers(0, length - 1), max_size=3)))
    drawn = [{word: draw(st.sampled_from(["_", "A0", "A1"])) for word in range(length)} for _ in predicates]
    roles = [
        {word: role for word, role in of.items() if word != predicate and role != "_"}
        for predicate, of in zip(predicates, drawn)
    ]
    rows = []
    for word in range(length):
        cells = [of.get(word, "_") for of in roles]
        frame = "go.01" if word in predicates else "_"
        rows.append("\t".join([str(word + 1), "w", *"____", str(above[word] + 1), *"___", frame, *cells]))
    return "\n".join(rows) + "\n", above, dict(zip(predicates, roles))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(propbanks())
def test_spans_are_of_the_tree_and_do_not_overlap(drawn):
    text, above, frames = drawn
    (by_head,), (by_tree,) = conllu(text), conllu(text, "subtree")
    if any(frames.values()):
        assert conllu(as_version_2(text), "subtree")[0].frames == by_tree.frames
        assert conllu(as_version_2(text))[0].frames == by_head.frames
    assert conllu(as_version_1(text))[0].frames == by_head.frames
    assert conllu(as_version_1(text), "subtree")[0].frames == by_tree.frames
    assert [frame.predicate for frame in by_tree.frames] == list(frames)
    for of_heads, of_trees in zip(by_head.frames, by_tree.frames):
        predicate, roles = of_heads.predicate, frames[of_heads.predicate]
        heads = {**roles, predicate: "V"}
        assert of_heads.tags == [f"B-{heads[word]}" if word in heads else "O" for word in range(len(above))]
        assert first_broken(of_trees.tags, "BIO") is None
        spans = {start: (role, end) for role, start, end in tags_to_spans(of_trees.tags)}
        assert len(spans) == len(heads)
        for head, role in heads.items():
            ((start, (found, end)),) = [(s, span) for s, span in spans.items() if s <= head <= span[1]]
            assert found == role and (head != predicate or start == end)
            # The words around it are below it, and below no other head that is nearer; those beside them are not.
            for word in range(len(above)):
                nearest = word
                while nearest != -1 and nearest not in heads:
                    nearest = above[nearest]
                if start <= word <= end:
                    assert nearest == head
                elif head != predicate and word in (start - 1, end + 1):
                    assert nearest != head


def test_a_word_with_two_roles_keeps_the_first(caplog):
    (sentence,) = conllu(as_version_2(BEHIND).replace("A0:2|A1:7", "A0:2|A1:7|A2:7|A3:5"))
    assert sentence.frames[1].tags == HEADS[1]
    assert "a: 2 roles" in caplog.text and "a:8, A2" in caplog.text


@pytest.mark.parametrize(
    "line, expected",
    [
        ("# sent_id = 1\n", True),
        ("#begin document (a); part 000\n", False),
        ("1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\t_\t_\t_", True),
        ("1-2\tdu" + "\t_" * 4 + "\t0\tx\t_\t_\n", True),
        # CoNLL-2012.
        ("1 0 0 a X * a 01 - - * (V*) -\n", False),
        ("1\ta\ta\ta\tN\tN\t_\t_\t2\t2\tSBJ\tSBJ\t_\t_\tA0\n", True),
    ],
)
def test_conllu_is_known_by_its_first_line(line, expected):
    assert is_conllu(line) is expected
