import itertools

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data.dataset_readers.dataset_utils.span_utils import (
    InvalidTagSequence,
    bio_tags_to_spans,
    bioul_tags_to_spans,
    iob1_tags_to_spans,
    to_bioul,
)

from seal.common.tag_encodings import convert_tags, first_broken, repaired_tags, spans_to_bio, tags_to_spans

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = BIO + ["E-X", "S-X", "E-Y", "S-Y"]
TO_BIOUL = str.maketrans({"E": "L", "S": "U"})


def every(tags, longest):
    return (list(seq) for length in range(longest + 1) for seq in itertools.product(tags, repeat=length))


def ordered(spans):
    """AllenNLP's spans in our form."""
    return sorted(((label, start, end) for label, (start, end) in spans), key=lambda span: span[1])


def bioul(tags):
    return [tag[0].translate(TO_BIOUL) + tag[1:] for tag in tags]


def reference_is_legal(tags, encoding):
    try:
        bioul_tags_to_spans(bioul(tags)) if encoding == "BIOES" else to_bioul(tags, encoding)
    except InvalidTagSequence:
        return False
    return True


def conlleval(tags):
    """The chunk rules of conlleval (Sang, Buchholz & Ma), written from its description: first starts, then ends."""
    cut = [(tag[0], tag[2:]) for tag in tags]
    spans, start = [], None
    for i, (prefix, label) in enumerate(cut + [("O", "")]):
        before, label_before = cut[i - 1] if i else ("O", "")
        changed = label != label_before
        if start is not None and (before in "ES" or prefix in "BSO" or changed):
            spans.append((label_before, start, i - 1))
            start = None
        if prefix in "BS" or (before in "ESO" and prefix in "EI") or (prefix != "O" and changed):
            start = i
    return spans


@pytest.mark.parametrize(
    "tags, spans",
    [
        ([], []),
        (["O", "O"], []),
        (["B-X"], [("X", 0, 0)]),
        (["B-X", "I-X", "O", "B-C-X", "I-C-X"], [("X", 0, 1), ("C-X", 3, 4)]),
        (["B-X", "B-X"], [("X", 0, 0), ("X", 1, 1)]),
        # Lenient: an I- tag that continues nothing starts a span.
        (["I-X", "I-X", "O"], [("X", 0, 1)]),
        (["B-X", "I-Y", "I-Y"], [("X", 0, 0), ("Y", 1, 2)]),
        (["O", "I-X", "I-Y"], [("X", 1, 1), ("Y", 2, 2)]),
    ],
)
def test_spans_by_hand(tags, spans):
    assert tags_to_spans(tags) == spans


def test_one_reading_of_every_sequence():
    for tags in every(BIOES, 4):
        assert tags_to_spans(tags) == conlleval(tags), tags


def test_spans_are_those_of_allennlp():
    count = 0
    for tags in every(BIO, 5):
        spans = tags_to_spans(tags)
        assert spans == ordered(bio_tags_to_spans(tags)) == ordered(iob1_tags_to_spans(tags)), tags
        count += len(spans) > 1
    assert count > 1000
    for tags in every(BIOES, 4):
        if first_broken(tags, "BIOES") is None:
            assert tags_to_spans(tags) == ordered(bioul_tags_to_spans(bioul(tags))), tags


@pytest.mark.parametrize("encoding, tags", [("BIO", BIO), ("IOB1", BIO), ("BIOES", BIOES)])
def test_what_is_legal(encoding, tags):
    legal = broken = 0
    for sequence in every(tags, 4):
        if sequence and encoding == "BIOES" and sequence[-1][0] in "BI":
            # AllenNLP's function does not check the labels inside a span.
            assert first_broken(sequence, encoding) is not None
            continue
        found = first_broken(sequence, encoding)
        mixed = encoding == "BIOES" and any(
            before[0] in "BI" and after[0] in "IE" and before[2:] != after[2:]
            for before, after in zip(sequence, sequence[1:])
        )
        assert (found is None) == (reference_is_legal(sequence, encoding) and not mixed), sequence
        legal, broken = legal + (found is None), broken + (found is not None)
    assert legal > 40 and (broken > 40 or encoding == "IOB1")


@pytest.mark.parametrize(
    "tags, encoding, index",
    [
        ("", "BIO", None),
        ("B-X I-X I-X O", "BIO", None),
        ("I-X", "BIO", 0),
        ("B-X O I-X", "BIO", 2),
        ("B-C-X I-X", "BIO", 1),
        ("O X", "BIO", 1),
        ("o", "BIO", 0),
        ("B-", "BIO", 0),
        ("B-X I-", "BIO", 1),
        ("O I-X", "BIO", 1),
        ("B-X I-Y", "BIO", 1),
        ("O S-X", "BIO", 1),
        ("I-X E-X", "IOB1", 1),
        ("I-X B-", "IOB1", 1),
        ("I-X X", "IOB1", 1),
        ("B-X O E-X", "BIOES", 1),
        ("B-X E-Y", "BIOES", 1),
        ("B-X I-X B-X E-X", "BIOES", 2),
        ("O E-X", "BIOES", 1),
        ("B-X E-X I-X", "BIOES", 2),
        ("B-X", "BIOES", 0),
        ("S-X B-X I-X", "BIOES", 2),
        ("S-X U-X", "BIOES", 1),
        ("S", "BIOES", 0),
        ("B-X E-X S-X O B-X I-X E-X", "BIOES", None),
        ("I-X B-X O I-Y I-X", "IOB1", None),
    ],
)
def test_where_it_breaks(tags, encoding, index):
    assert first_broken(tags.split(), encoding) == index
    assert first_broken([""], encoding) == 0


@pytest.mark.parametrize("source", ["IOB1", "BIO", "BIOES"])
@pytest.mark.parametrize("target", ["BIO", "BIOES"])
def test_conversion_keeps_the_spans(source, target):
    converted = 0
    for tags in every(BIOES if source == "BIOES" else BIO, 4):
        if first_broken(tags, source) is None:
            found = convert_tags(tags, source, target)
            assert len(found) == len(tags) and first_broken(found, target) is None
            assert tags_to_spans(found) == tags_to_spans(tags)
            converted += 1
            if source != "BIOES" and target == "BIOES":
                assert bioul(found) == to_bioul(tags, source)
    assert converted > 100


def test_round_trips():
    for tags in every(BIO, 5):
        if first_broken(tags, "BIO") is None:
            assert convert_tags(convert_tags(tags, "BIO", "BIOES"), "BIOES", "BIO") == tags
    for tags in every(BIOES, 4):
        if first_broken(tags, "BIOES") is None:
            assert convert_tags(convert_tags(tags, "BIOES", "BIO"), "BIO", "BIOES") == tags


def test_the_example_of_the_module():
    assert convert_tags("I-X I-X B-X".split(), "IOB1", "BIO") == "B-X I-X B-X".split()
    assert convert_tags("I-X I-X B-X".split(), "IOB1", "BIOES") == "B-X E-X S-X".split()
    # Labels may hold dashes.
    assert convert_tags(["I-C-X", "I-C-X", "I-X"], "IOB1", "BIOES") == ["B-C-X", "E-C-X", "S-X"]


@pytest.mark.parametrize(
    "tags, source, target, message",
    [
        (["O", "I-X"], "BIO", "BIOES", "1, 'I-X'.*BIO"),
        (["O"], "BIO", "IOB1", "'IOB1'"),
        (["O"], "IOB2", "BIO", "'IOB2'"),
        (["O"], "BIO", "BMES", "'BMES'"),
    ],
)
def test_what_cannot_be_converted(tags, source, target, message):
    with pytest.raises(ConfigurationError, match=message):
        convert_tags(tags, source, target)


def test_spans_to_bio_inverts_every_legal_sequence():
    legal = [tags for tags in itertools.product(BIO, repeat=5) if first_broken(tags, "BIO") is None]
    assert len(legal) > 100
    for tags in legal:
        assert spans_to_bio(tags_to_spans(tags)[::-1], 5) == list(tags)


@pytest.mark.parametrize(
    "spans", [[("X", 0, 1), ("Y", 1, 2)], [("X", 2, 3)], [("X", -1, 0)], [("X", 2, 1)], [("", 0, 0)]]
)
def test_spans_to_bio_refuses(spans):
    with pytest.raises(ValueError):
        spans_to_bio(spans, 3)


@pytest.mark.parametrize("encoding, tags", [("BIO", BIO), ("BIOES", BIOES), ("IOB1", BIO)])
def test_a_repair_keeps_the_spans_and_what_is_legal(encoding, tags):
    for given in every(tags, 4):
        repaired = repaired_tags(given, encoding)
        assert first_broken(repaired, encoding) is None
        assert tags_to_spans(repaired) == tags_to_spans(given)
        if first_broken(given, encoding) is None:
            assert repaired == given
        elif encoding == "BIO":
            # Begins are put in the place of insides, and nothing else is changed.
            assert all(new == old or (old[0], new) == ("I", f"B-{old[2:]}") for old, new in zip(given, repaired))


def test_what_is_no_tag_is_not_repaired():
    for wrong in ("X", "B-", "b-X", "S-X", "U-X"):
        assert repaired_tags(["I-X", wrong], "BIO") is None
