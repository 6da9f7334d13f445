import importlib.util
import os
import random
import shutil
import subprocess

import pytest

from seal.common.tag_encodings import spans_to_bio
from seal.tasks.srl.srl_score import SrlScore

ROLES = "ARG0 ARG1 ARG2 ARGM-TMP ARG1-DSP R-ARG0 C-ARG0 C-ARG1 C-R-ARG0 C-ARGM-TMP C-V".split()
TOOL = ("structured_prediction", "tools", "srl-eval.pl")


def perl_script():
    models = importlib.util.find_spec("allennlp_models")
    path = models and os.path.join(models.submodule_search_locations[0], *TOOL)
    return path if path and os.path.exists(path) else None


def random_frame(rng):
    """Gold spans with a predicate, and spans predicted by changing some of them."""
    length = rng.randint(3, 30)
    borders = sorted(rng.sample(range(length + 1), rng.randint(2, min(length + 1, 12))))
    pieces = [(start, end - 1) for start, end in zip(borders, borders[1:])]
    verb = rng.randrange(len(pieces))
    gold, predicted = [], []
    for number, (start, end) in enumerate(pieces):
        role = "V" if number == verb else rng.choice(ROLES)
        if number == verb or rng.random() < 0.6:
            gold.append((role, start, end))
            draw = rng.random()
            if draw < 0.7:
                predicted.append((role, start, end))
            elif draw < 0.8:
                predicted.append((rng.choice(ROLES), start, end))
            elif draw < 0.9:
                predicted.append((role, start, max(start, end - 1)))
        elif rng.random() < 0.2:
            predicted.append((rng.choice(ROLES), start, end))
    return length, pieces[verb][0], gold, predicted


def has_pieces(spans):
    roles = [span[0] for span in spans]
    return any(role[:2] == "C-" and role[2:] in roles[:index] for index, role in enumerate(roles))


def brackets(spans, length):
    cells = ["*"] * length
    for role, start, end in spans:
        cells[start] = f"({role}{cells[start]}"
        cells[end] += ")"
    return cells


@pytest.mark.skipif(shutil.which("perl") is None, reason="srl-eval.pl needs perl")
@pytest.mark.skipif(perl_script() is None, reason="srl-eval.pl comes with allennlp_models: not installed")
def test_agrees_with_the_conll_2005_program(tmp_path):
    rng = random.Random(13)
    frames = [random_frame(rng) for _ in range(600)]
    for name, which in (("gold", 2), ("predicted", 3)):
        with open(tmp_path / name, "w") as file:
            for frame in frames:
                length, verb = frame[:2]
                for index, cell in enumerate(brackets(frame[which], length)):
                    file.write(f"{'go' if index == verb else '-'} {cell}\n")
                file.write("\n")
    process = subprocess.run(
        ["perl", perl_script(), str(tmp_path / "gold"), str(tmp_path / "predicted")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=True,
    )
    rows = {row[0]: row[1:] for row in map(str.split, process.stdout.splitlines()) if len(row) == 7}

    metric = SrlScore(by_role=True)
    metric(
        [spans_to_bio(predicted, length) for length, _, _, predicted in frames],
        [spans_to_bio(gold, length) for length, _, gold, _ in frames],
    )
    scores = metric.get_metric()

    precision, recall, f1 = rows.pop("Overall")[3:]
    assert f"{scores['precision']:.2f}" == precision
    assert f"{scores['recall']:.2f}" == recall
    assert f"{scores['f1']:.2f}" == f1
    assert int(rows.pop("V")[0]) > 300  # shown by the program, but in no total
    assert {f"f1-{role}": row[-1] for role, row in rows.items()} == {
        name: f"{value:.2f}" for name, value in scores.items() if name.startswith("f1-")
    }
    # The comparison is worth something only where arguments in pieces are both hit and missed, and C- spans
    # without an argument to continue occur.
    in_pieces = [(gold, predicted) for _, _, gold, predicted in frames if has_pieces(gold)]
    assert sum(gold == predicted for gold, predicted in in_pieces) > 10
    assert sum(gold != predicted for gold, predicted in in_pieces) > 10
    assert sum(gold[0][0][:2] == "C-" for _, _, gold, _ in frames) > 10


def score(predicted, gold, **kwargs):
    metric = SrlScore(**kwargs)
    metric([predicted], [gold])
    return metric.get_metric()


def test_counts_by_hand():
    gold = ["B-ARG0", "I-ARG0", "B-V", "B-ARG1", "O", "B-ARGM-TMP"]
    predicted = ["B-ARG0", "I-ARG0", "B-V", "B-ARG1", "I-ARG1", "O"]
    scores = score(predicted, gold, by_role=True)
    # One of two predicted and of three gold arguments; V is not counted.
    assert scores["precision"] == pytest.approx(50.0)
    assert scores["recall"] == pytest.approx(100 / 3)
    assert scores["f1"] == pytest.approx(40.0)
    assert scores["f1-ARG0"] == 100.0 and scores["f1-ARG1"] == 0.0 and scores["f1-ARGM-TMP"] == 0.0
    assert "f1-V" not in scores
    assert set(score(predicted, gold)) == {"precision", "recall", "f1", "ucr", "duplicates", "exact_match"}


@pytest.mark.parametrize(
    "predicted, gold, f1",
    [
        # All pieces must agree.
        ("B-X O B-C-X", "B-X O B-C-X", 100),
        ("B-X O O", "B-X O B-C-X", 0),
        ("B-X O B-C-X", "B-X O O", 0),
        ("B-X I-X I-X", "B-X O B-C-X", 0),
        # The borders of the whole agree, those of the pieces do not.
        ("B-X I-X B-C-X", "B-X B-C-X I-C-X", 0),
        # Without an X to its left C-X is an X.
        ("B-C-X O B-V", "B-X O B-V", 100),
        # C-X continues the last X.
        ("B-X B-X B-C-X", "B-X B-X B-C-X", 100),
        # C-V belongs to the predicate.
        ("B-V O B-C-V B-X", "B-V O O B-X", 100),
        # R-X is a role of its own.
        ("B-R-X", "B-X", 0),
        # An I- tag that continues nothing starts an argument.
        ("O I-X I-X", "O B-X I-X", 100),
    ],
)
def test_rules_by_hand(predicted, gold, f1):
    assert score(predicted.split(), gold.split())["f1"] == f1


@pytest.mark.parametrize(
    "predicted, duplicates",
    [
        ("B-ARG0 O B-ARG0", 1),
        ("B-ARG0 B-ARG0 B-ARG0", 1),
        ("B-ARG0 B-ARG0 B-ARGA B-ARGA", 2),
        ("B-A5 O B-A5", 1),
        ("B-AA O B-AA", 1),
        ("B-ARG5 I-ARG5 I-ARG5", 0),
        ("B-ARG0 O B-C-ARG0", 0),
        ("B-ARG0 O B-R-ARG0 B-R-ARG0", 0),
        ("B-ARGM-TMP O B-ARGM-TMP", 0),
        ("B-ARG1-DSP O B-ARG1-DSP", 0),
        ("B-ARG6 O B-ARG6", 0),
        ("B-V B-V", 0),
    ],
)
def test_uniqueness_of_core_roles(predicted, duplicates):
    predicted = predicted.split()
    scores = score(predicted, ["O"] * len(predicted))
    assert scores["duplicates"] == duplicates
    assert scores["ucr"] == (100.0 if duplicates else 0.0)


def test_ucr_is_a_share_of_predicates_and_ignores_gold():
    metric = SrlScore()
    twice = ["B-ARG0", "O", "B-ARG0"]
    metric([twice, ["O"] * 3], [["O"] * 3, twice])
    metric([["O"] * 3, ["O"] * 3], [twice, twice])
    assert metric.get_metric()["ucr"] == 25.0


def test_entries_without_a_predicate_are_not_counted():
    metric = SrlScore()
    metric([["B-V", "B-ARG0"], ["B-ARG0", "B-ARG0"]], [["B-V", "B-ARG0"], ["O", "O"]], predicate=[0, None])
    assert set(metric.get_metric().values()) == {100.0, 0.0}
    assert metric.get_metric()["f1"] == 100.0


def test_reset():
    metric = SrlScore(by_role=True)
    nothing = metric.get_metric()
    assert nothing == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "ucr": 0.0, "duplicates": 0.0, "exact_match": 0.0}
    metric([["B-ARG0", "B-ARG0"]], [["B-ARG0", "O"]])
    once = metric.get_metric()
    assert once["f1"] > 0 and metric.get_metric(reset=True) == once
    assert metric.get_metric() == nothing


def test_exact_match_counts_frames_all_of_whose_arguments_are_right():
    gold = ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"]
    frames = {
        "right": (gold, True),
        "its predicate's tag does not count": (["B-ARG0", "O", "B-ARG1", "I-ARG1"], True),
        "one missing": (["O", "B-V", "B-ARG1", "I-ARG1"], False),
        "another border": (["B-ARG0", "B-V", "B-ARG1", "O"], False),
        "another role": (["B-ARG0", "B-V", "B-ARG2", "I-ARG2"], False),
    }
    metric = SrlScore()
    for predicted, exact in frames.values():
        metric([predicted], [gold])
        alone = SrlScore()
        alone([predicted], [gold])
        assert alone.get_metric()["exact_match"] == 100 * exact
    assert metric.get_metric()["exact_match"] == 40
