import pytest

from seal.predictors.readable import readable


@pytest.mark.parametrize(
    "record, text",
    [
        ({"error": "line 1: it is blank."}, "error: line 1: it is blank."),
        (
            {
                "words": ["It", "rains"],
                "frames": [
                    {"description": "It [V rains]", "probability": 0.987},
                    {"description": "[ARG1 It] [V rains]", "probability": 0.5, "energy": -3.14159},
                ],
            },
            "It rains\n  It [V rains]    0.99\n  [ARG1 It] [V rains]    0.50, energy -3.14",
        ),
        (
            {"words": ["Oh"], "frames": []},
            'Oh\n  no predicate was found; name some, {"words": ["It", "rains"], "predicates": [1]}, or add the verbs '
            "of a tagger, --predicates-from TAGGER",
        ),
        ({"words": ["It"], "tags": ["PRP"], "description": "It/PRP", "probability": 0.25}, "It/PRP    0.25"),
        ({"labels": {"cocoa": 0.971, "trade": 0.6}}, "cocoa 0.97, trade 0.60"),
        ({"labels": {"cocoa": 0.971}, "energy": 2.0}, "cocoa 0.97    energy 2.00"),
        ({"labels": {}}, "no label"),
        ({"line": 3, "input": "Cocoa fell", "labels": {"cocoa": 0.971}}, "Cocoa fell\n  cocoa 0.97"),
        ({"line": 3, "input": {"salt": 1}, "labels": {"cocoa": 0.971}}, "cocoa 0.97"),
        ({"labels": {"cocoa": None}}, "cocoa not finite"),
        ({"image": "a.png", "description": "27 % of 32 x 32 pixels", "energy": None}, "a.png: 27 % of 32 x 32 pixels"),
    ],
)
def test_records_of_every_task(record, text):
    assert readable(record) == text
