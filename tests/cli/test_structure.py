"""The command `structure`: what a tagger of any language learns and predicts by, from files."""

import json
import re
import textwrap

import numpy
import pytest

from seal.cli.structure import main
from seal.tagger import StructuredTagger
from tests.tagger.test_structured_tagger import RIGHT, TAGS, emissions_of
from tests.test_torch_alone import ALONE, run


def lines(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    scores = emissions_of(200).numpy()
    numpy.savez(tmp_path / "scores.npz", emissions=scores.reshape(-1, 5), lengths=[5] * 200, labels=TAGS)
    lines(tmp_path / "gold.jsonl", [{"tags": RIGHT}] * 200)
    return tmp_path


def learned(files, *more):
    scores, gold = str(files / "scores.npz"), str(files / "gold.jsonl")
    return main(["learn", scores, gold, "--out", str(files / "tagger"), *more])


def test_it_learns_and_predicts_as_in_python(files, capsys):
    assert learned(files) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == ["f1", "exact_match"] and "own" in told[0]
    tagger = StructuredTagger(TAGS).fit(emissions_of(200), [RIGHT] * 200)
    test = emissions_of(30, seed=1).numpy()
    lengths = [number % 6 for number in range(30)]
    numpy.savez(files / "padded.npz", emissions=test, lengths=lengths, labels=numpy.array(TAGS))
    assert main(["apply", str(files / "tagger"), str(files / "padded.npz"), "--k", "2"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["tags"] for record in records] == tagger.predict(test, lengths)
    assert [len(record["candidates"]) for record in records[:6]] == [0, 2, 2, 2, 2, 2]
    best = tagger.predict_k(test[1:2], 1, [1])[0][0]
    assert records[1]["candidates"][0]["joint"] == best.joint and records[1]["candidates"][0]["terms"] == best.terms
    out = files / "predicted.jsonl"
    assert main(["apply", str(files / "tagger"), str(files / "padded.npz"), "--out", str(out)]) == 0
    assert [json.loads(line)["tags"] for line in out.read_text().splitlines()] == [one["tags"] for one in records]


@pytest.mark.parametrize("shape", [(0, 5), (0, 4, 5)], ids=["rows", "padded"])
def test_no_sentence_gives_no_line(files, shape, capsys):
    assert learned(files) == 0
    capsys.readouterr()
    numpy.savez(files / "none.npz", emissions=numpy.zeros(shape), lengths=[], labels=TAGS)
    assert main(["apply", str(files / "tagger"), str(files / "none.npz")]) == 0
    assert capsys.readouterr().out == ""


def test_a_crf_keys_and_validation_data_of_their_own(files, capsys):
    scores = emissions_of(200).numpy()
    crf = {"transitions": numpy.eye(5), "start_transitions": numpy.ones(5), "end_transitions": numpy.zeros(5)}
    numpy.savez(files / "scores.npz", emissions=scores, labels=TAGS, **crf)
    numpy.savez(files / "valid.npz", emissions=emissions_of(60, 2).numpy(), labels=TAGS)
    lines(files / "gold.jsonl", [{"tags": RIGHT, "key": "give"}] * 200)
    valid = lines(files / "valid.jsonl", [{"tags": RIGHT, "key": "give"}] * 60)
    more = ["--valid-scores", str(files / "valid.npz"), "--valid-gold", valid, "--score", "exact_match"]
    assert learned(files, *more, "--settings", '{"num_candidates": 5}') == 0
    tagger = StructuredTagger.load(files / "tagger")
    assert tagger.needs == ["keys"] and tagger.num_candidates == 5 and tagger.score == "exact_match"
    assert tagger.report_["chosen_by"] == 60 and float(tagger._space.crf.start_transitions[0]) == 1
    apply = ["apply", str(files / "tagger"), str(files / "valid.npz")]
    assert main(apply) == 1 and "--inputs" in capsys.readouterr().err
    assert main([*apply, "--keys", lines(files / "keys.jsonl", [{"key": "give"}] * 60)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 60


def test_words_and_predicates_are_learned_with_as_in_python(files, capsys):
    words = [[f"w{(row + place) % 7}" for place in range(5)] for row in range(200)]
    given = {"words": words, "predicates": [row % 5 for row in range(200)], "keys": ["give", "take"] * 100}
    records = [
        {"tags": RIGHT, "words": words, "predicate": place, "key": key} for words, place, key in zip(*given.values())
    ]
    gold = lines(files / "gold.jsonl", records)
    assert learned(files) == 0
    tagger = StructuredTagger(TAGS).fit(emissions_of(200), [RIGHT] * 200, **given)
    assert StructuredTagger.load(files / "tagger").needs == tagger.needs == ["keys", "words", "predicates"]
    capsys.readouterr()
    # Tags do not count where they are given.
    assert main(["apply", str(files / "tagger"), str(files / "scores.npz"), "--k", "3", "--inputs", gold]) == 0
    found = [json.loads(line)["candidates"][0]["joint"] for line in capsys.readouterr().out.splitlines()]
    assert found == [one.joint for (one,) in tagger.predict_k(emissions_of(200), 1, **given)]
    assert main(["apply", str(files / "tagger"), str(files / "scores.npz")]) == 1
    assert "'key'" in capsys.readouterr().err
    without = lines(
        files / "inputs.jsonl", [{name: record[name] for name in ("key", "predicate")} for record in records]
    )
    assert main(["apply", str(files / "tagger"), str(files / "scores.npz"), "--inputs", without]) == 1
    assert "inputs.jsonl:1: " in capsys.readouterr().err
    valid = ["--valid-scores", str(files / "scores.npz"), "--valid-gold", lines(files / "valid.jsonl", [RIGHT] * 200)]
    assert learned(files, *valid) == 1 and "valid.jsonl: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "arrays, named",
    [
        ({"labels": TAGS}, "'emissions'"),
        ({"emissions": numpy.zeros((10, 5)), "labels": TAGS}, "lengths"),
        ({"emissions": numpy.zeros((10, 5)), "lengths": [5, 4], "labels": TAGS}, "9"),
        ({"emissions": numpy.zeros((2, 5, 5)), "lengths": [5, 6], "labels": TAGS}, "lengths"),
        ({"emissions": numpy.zeros((200, 5, 4)), "labels": TAGS}, "emissions[0]"),
        ({"emissions": numpy.array([{}, {}]), "labels": TAGS}, "scores.npz"),
    ],
)
def test_scores_that_cannot_be_used(files, arrays, named, capsys):
    numpy.savez(files / "scores.npz", **arrays)
    assert learned(files) == 1
    told = capsys.readouterr().err
    assert named in told and told.count("\n") == 1


@pytest.mark.parametrize(
    "text, named",
    [
        ('{"tag": []}\n', ":1: .*'tags'"),
        ('{"tags": ["O"]}\n{"tags": ["O"], "word": ["a"]}\n', ":2: .*'word'.*\"words\""),
        ('{"tags": ["O"], "words": "a"}\n', ":1: 'words'"),
        ('{"tags": ["O"], "words": ["a"]}\n["O"]\n', ":2: .*'words'"),
        ("{\n", ":1: "),
        ('["O"]\n', r"gold\[0\]"),
    ],
)
def test_gold_that_cannot_be_used(files, text, named, capsys):
    (files / "gold.jsonl").write_text(text, encoding="utf-8")
    assert learned(files) == 1 and re.search(named, capsys.readouterr().err)


def test_options_and_files_that_are_not_there(files, capsys):
    for option, value in (
        ("--settings", "[]"),
        ("--settings", '{"energy": 1}'),
        ("--valid-gold", "x"),
        ("--score", "f2"),
    ):
        assert learned(files, option, value) == 1 and option.lstrip("-") in capsys.readouterr().err
    assert main(["apply", str(files / "none"), "x"]) == 1 and "none" in capsys.readouterr().err
    (files / "scores.npz").unlink()
    assert learned(files) == 1 and "scores.npz" in capsys.readouterr().err


def test_allennlp_is_not_needed(files):
    command = ["seal", "structure", "learn", "scores.npz", "gold.jsonl", "--out", "t"]
    code = f"import os, sys\nos.chdir({str(files)!r})\nsys.argv = {command!r}\nimport seal.__main__"
    ended = run(f"{textwrap.dedent(ALONE)}\n{code}")
    assert ended.stdout.startswith("f1 ") and (files / "t" / "tagger.json").exists(), ended.stderr
