import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal.common.tag_encodings import ENCODINGS, first_broken, spans_to_bio, spans_to_tags, tags_to_spans
from seal.common.tag_notation import NO_LABEL, TagNotation, TagsSeen, recognise
from tests.one_sentence import message_of


def seen(*sentences):
    found, line = TagsSeen(), 1
    for sentence in sentences:
        tags = sentence if isinstance(sentence, list) else sentence.split()
        found.add(tags, "f", range(line, line + len(tags)))
        line += len(tags) + 1
    return found


# The same spans in each way to write them: PER of two tokens, LOC of one, O, and LOC of three.
SPANS = [("PER", 0, 1), ("LOC", 2, 2), ("LOC", 4, 6)]
WAYS = {
    "I-PER I-PER I-LOC O I-LOC I-LOC I-LOC": "IOB1 B-X I-X O",
    "B-PER I-PER B-LOC O B-LOC I-LOC I-LOC": "BIO B-X I-X O",
    "b-PER i-PER b-LOC o b-LOC i-LOC i-LOC": "BIO b-X i-X o",
    "b-PER i-PER b-LOC O b-LOC i-LOC i-LOC": "BIO b-X i-X O",
    "B_PER I_PER B_LOC O B_LOC I_LOC I_LOC": "BIO B_X I_X O",
    "PER-B PER-I LOC-B O LOC-B LOC-I LOC-I": "BIO X-B X-I O",
    "B-PER I-PER B-LOC - B-LOC I-LOC I-LOC": "BIO B-X I-X -",
    "B-PER I-PER B-LOC _ B-LOC I-LOC I-LOC": "BIO B-X I-X _",
    "B-PER E-PER S-LOC O B-LOC I-LOC E-LOC": "BIOES B-X I-X E-X S-X O",
    "B-PER L-PER U-LOC O B-LOC I-LOC L-LOC": "BIOES B-X I-X L-X U-X O",
    "B-PER E-PER S-LOC O B-LOC M-LOC E-LOC": "BIOES B-X M-X E-X S-X O",
    "B-PER E-PER W-LOC O B-LOC M-LOC E-LOC": "BIOES B-X M-X E-X W-X O",
    "PER/b PER/e LOC/w - LOC/b LOC/m LOC/e": "BIOES X/b X/m X/e X/w -",
}


@pytest.mark.parametrize("written", WAYS)
def test_a_way_to_write_spans_is_recognised_read_and_written(written):
    tags = written.split()
    notation = recognise(seen(tags))
    assert notation.name == WAYS[written] and TagNotation.named(notation.name) == notation
    plain = notation.read(tags)
    assert plain == spans_to_tags(SPANS, 7, notation.encoding)
    for encoding in ("BIO", "BIOES"):
        assert notation.write(spans_to_tags(SPANS, 7, encoding), encoding) == tags
    assert notation.fits(tags) and not notation.fits([*tags, "PER"])


@pytest.mark.parametrize(
    "written, name",
    [
        ("B I O B", "BIO B I O"),
        ("I I O B", "BIO B I O"),
        ("O I I O", "IOB1 B I O"),
        ("b i - b", "BIO b i -"),
        ("B M E S", "BIOES B M E S O"),
        ("S B E S", "BIOES B I E S O"),
    ],
)
def test_spans_without_labels(written, name):
    tags = written.split()
    if written == "I I O B":
        assert "mixes IOB1 and BIO" in message_of(recognise, seen(tags))
        return
    notation = recognise(seen(tags))
    assert notation.name == name and TagNotation.named(name) == notation
    assert {label for label, _, _ in tags_to_spans(notation.read(tags))} == {NO_LABEL}
    assert (
        notation.write(
            notation.read(tags) if notation.encoding != "IOB1" else ["O", f"B-{NO_LABEL}", f"I-{NO_LABEL}", "O"],
            notation.learned,
        )
        == tags
    )


def test_nothing_may_be_written_outside_of_spans():
    notation = recognise(seen(["B-PER", "I-PER", "", ""]))
    assert notation == TagNotation("BIO", outside="") == TagNotation.named(notation.name)
    assert notation.read(["", "B-PER"]) == ["O", "B-PER"] and notation.write(["O", "B-PER"], "BIO") == ["", "B-PER"]


@pytest.mark.parametrize(
    "tags",
    [
        "NOUN VERB DET X PUNCT",
        "N O ^ S Z V A R ! D P & T X # @ ~ U E $ , G L M",  # Tweets.
        "NN -LRB- NNP-S VBZ PRP$ HYPH",
        "author title O date",
        "N_S N_P V_S -",
        "S-bar NP VP",
        "O O O",
        "B-NP NN VB JJ DT",  # A word's tag that looks like one of a span, among parts of speech.
        "S O O",
        "S-x E-y",
    ],
)
def test_tags_that_write_no_spans(tags):
    assert recognise(seen(tags)) is None


@pytest.mark.parametrize(
    "sentences, told",
    [
        (["B-PER I-PER O", "b-PER O"], ("f:5: ", "'b-PER'", "'B-PER'", "f:1")),
        (["B-PER I-PER O", "B_PER I-PER O"], ("f:5: ", "'B_PER'")),
        (["B-PER I-PER O", "B-PER I-PER -", "O"], ("f:7: ", "'-'", "'O'")),
        (["B-PER I-PER O", "B-PER I-PER O", ["", "O"]], ("f:9: ", "''", "'O'")),
        (["B-PER E-PER O U-LOC", "B-PER E-PER"], ("f:4: ", "'U-LOC'")),
        (["B-PER M-PER W-PER O", "B-PER E-PER", "B-PER E-PER S-PER"], ("f:3: ", "'W-PER'")),
        (["B-PER I-PER O", "O PER"], ("f:6: ", "'PER'", "'B-PER'")),
        (["B-PER I-PER O", "PER-B O"], ("f:5: ", "'PER-B'")),
        (
            ["B-PER I-PER O", "O I-PER"],
            ("f:6: ", "'I-PER'", "'B-PER' does (f:1)", "IOB1 and BIO", "dataset_reader.repair"),
        ),
        (["B-PER I-PER I-LOC O"], ("f:3: ", "'I-LOC'")),
    ],
)
def test_what_mixes_two_ways_is_refused_with_its_line(sentences, told):
    message = message_of(recognise, seen(*sentences))
    assert message.startswith(told[0]) and all(part in message for part in told)


def test_iob1_and_bio_are_told_apart_by_where_spans_begin():
    assert recognise(seen("I-A B-A O I-B")).encoding == "IOB1"
    assert recognise(seen("B-A B-A O", "B-B I-B")).encoding == "BIO"
    assert recognise(seen("B-A B-A O", "O I-B"), repair=True).encoding == "BIO"


@st.composite
def spans(draw):
    length, found, start = draw(st.integers(1, 9)), [], 0
    while start < length:
        end = start + draw(st.integers(0, 2))
        if end < length and draw(st.booleans()):
            found.append((draw(st.sampled_from("XY")), start, end))
        start = end + 1
    return found, length


@given(spans())
def test_every_encoding_writes_the_same_spans(drawn):
    found, length = drawn
    for encoding in ENCODINGS:
        tags = spans_to_tags(found, length, encoding)
        assert first_broken(tags, encoding) is None and tags_to_spans(tags) == found
    iob1 = spans_to_tags(found, length, "IOB1")
    # `B-` only where a span of the same label ends right before.
    before = {end + 1: label for label, _, end in found}
    assert [place for place, tag in enumerate(iob1) if tag[0] == "B"] == [
        start for label, start, _ in found if before.get(start) == label
    ]
    assert spans_to_bio(found, length) == spans_to_tags(found, length, "BIO")
