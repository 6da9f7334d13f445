"""scripts/predicates.py: the scores, by hand."""

from types import SimpleNamespace

import pytest
from allennlp.models import archival

from scripts.predicates import main, scores


@pytest.mark.parametrize(
    "found, gold, expected",
    [
        # Two of four are right, and two of four are found; one of the two sentences with a predicate is silent.
        ([[0, 2, 5], [], [1]], [{0, 5}, {1, 3}, set()], (50.0, 50.0, 50.0, 50.0)),
        ([[0], [1]], [{0, 1}, {1}], (100.0, 66.7, 80.0, 0.0)),
        ([[]], [set()], (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_scores(found, gold, expected):
    table = scores(found, gold)
    assert (table["precision"], table["recall"], table["f1"], table["silent"]) == expected


def test_a_tagger_in_the_place_of_the_model_ends_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(archival, "load_archive", lambda path: SimpleNamespace(model=object()))
    assert main(["tagger.tar.gz", "roles.tar.gz", "nosuch.gold_conll"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: tagger.tar.gz is no model of roles")
