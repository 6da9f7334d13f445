import os
import random
import re
import shutil
import subprocess

import allennlp
import pytest
from nltk import Tree

from seal.common.linear_trees import as_brackets, linearised
from seal.tasks.parsing.bracket_score import BracketCounts, BracketScore, bracket_counts

# The program's source comes with AllenNLP.
EVALB = os.path.join(os.path.dirname(allennlp.__file__), "tools", "EVALB")
LABELS = "S NP VP PP ADVP PRT TOP SBAR".split()
TAGS = "NN NN VB IN DT , . : `` ''".split()


def symbols_and_tags(text):
    tree = Tree.fromstring(text)
    return linearised(tree), [tag for _, tag in tree.pos()]


def counts(predicted, gold):
    symbols, tags = symbols_and_tags(gold)
    return bracket_counts(symbols_and_tags(predicted)[0], symbols, tags)


def test_counts_by_hand():
    gold = "(S (NP (PRP I)) (VP (VBP see) (NP (NP (NNS dogs)) (PP (IN with) (NP (NNS glasses))))))"
    # The verb has the prepositional phrase: NP over `dogs with glasses` is missing, and nothing is too much.
    high = "(S (NP (PRP I)) (VP (VBP see) (NP (NNS dogs)) (PP (IN with) (NP (NNS glasses)))))"
    assert counts(gold, gold) == BracketCounts(7, 7, 7, 5)
    assert counts(high, gold) == BracketCounts(6, 6, 7, 5)
    metric = BracketScore()
    symbols, tags = symbols_and_tags(gold)
    metric([symbols, symbols_and_tags(high)[0]], [symbols, symbols], [tags, tags])
    assert metric.get_metric() == {
        "precision": 100.0,
        "recall": pytest.approx(100 * 13 / 14),
        "f1": pytest.approx(100 * 26 / 27),
        "exact_match": 50.0,
    }


@pytest.mark.parametrize(
    "predicted, gold, expected",
    [
        # A label, and a border.
        ("(S (NP (NN a)) (NN b))", "(S (VP (NN a)) (NN b))", (1, 2, 2, 2)),
        ("(S (NP (NN a) (NN b)) (NN c))", "(S (NP (NN a)) (NN b) (NN c))", (1, 2, 2, 3)),
        # The same label over the same words counts as often as both have it.
        ("(S (NP (NP (NP (NN a)))))", "(S (NP (NP (NN a))))", (3, 4, 3, 1)),
        ("(S (NP (NN a)))", "(S (NP (NP (NN a))))", (2, 2, 3, 1)),
        # The order inside a chain does not.
        ("(S (VP (NN a)))", "(VP (S (NN a)))", (2, 2, 2, 1)),
        # Where a comma hangs does not count; what holds nothing else is no constituent.
        ("(S (NP (NN a) (, ,)) (VP (VB b)) (. .))", "(S (NP (NN a)) (, ,) (VP (VB b) (. .)))", (3, 3, 3, 2)),
        ("(S (NP (NN a)) (PRN (: --)))", "(S (NP (NN a)) (: --))", (2, 2, 2, 1)),
        # Other signs are words.
        ("(S (NP (NN a) ($ $)))", "(S (NP (NN a)) ($ $))", (1, 2, 2, 2)),
        ("(S (NP (NN a)) (-LRB- -LRB-))", "(S (NP (NN a) (-LRB- -LRB-)))", (1, 2, 2, 2)),
        # The root is not counted; ADVP is PRT; function tags are cut.
        ("(TOP (S (NN a)))", "(S1 (S (NN a)))", (1, 1, 1, 1)),
        ("(ROOT (FRAG (NN a)))", "(S (NN a))", (0, 1, 1, 1)),
        ("(S (PRT (RP up)))", "(S (ADVP (RP up)))", (2, 2, 2, 1)),
        ("(S-TPC (NP=2 (NN a)))", "(S (NP-SBJ-1 (NN a)))", (2, 2, 2, 1)),
    ],
)
def test_conventions(predicted, gold, expected):
    assert counts(predicted, gold) == expected


def test_a_tree_of_punctuation_alone_is_no_tree_to_score():
    metric = BracketScore()
    symbols, tags = symbols_and_tags("(FRAG (: --) (. .))")
    metric([symbols], [symbols], [tags])
    assert metric.get_metric(reset=True) == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "exact_match": 0.0}
    # Without any constituent that is counted, a tree is as right as it can be.
    symbols, tags = symbols_and_tags("(TOP (NN a))")
    metric([symbols], [symbols], [tags])
    assert metric.get_metric()["exact_match"] == 100.0


def random_tree(rng, tags):
    """A random tree over words with these parts of speech."""
    nodes = [Tree(tag, [f"w{place}"]) for place, tag in enumerate(tags)]
    while len(nodes) > 1 or rng.random() < 0.3:
        start = rng.randrange(len(nodes))
        end = rng.randint(start + 1, min(start + 4, len(nodes)))
        nodes[start:end] = [Tree(rng.choice(LABELS), nodes[start:end])]
    return Tree(rng.choice(LABELS), nodes) if len(nodes[0]) == 1 else nodes[0]


def changed(rng, tree):
    """The tree with some of its constituents taken out, and some with another label or once more."""
    children = []
    for child in tree:
        if isinstance(child[0], str):
            children.append(child)
        elif rng.random() < 0.15:
            children.extend(changed(rng, child))
        else:
            children.append(changed(rng, child))
    label = rng.choice(LABELS) if rng.random() < 0.15 else tree.label()
    found = Tree(label, children)
    return Tree(label, [found]) if rng.random() < 0.1 else found


def random_trees(seed, number):
    """Pairs of predicted and gold trees: some are equal, some alike, some have no more in common than the words."""
    rng = random.Random(seed)
    for _ in range(number):
        tags = [rng.choice(TAGS) for _ in range(rng.randint(1, 20))]
        gold = random_tree(rng, tags)
        draw = rng.random()
        yield gold if draw < 0.2 else changed(rng, gold) if draw < 0.7 else random_tree(rng, tags), gold


def scored(pairs):
    metric = BracketScore()
    for predicted, gold in pairs:
        metric([linearised(predicted)], [linearised(gold)], [[tag for _, tag in gold.pos()]])
    return metric


@pytest.mark.skipif(shutil.which("gcc") is None, reason="evalb comes as C source, and there is no gcc")
def test_agrees_with_evalb(tmp_path):
    program = str(tmp_path / "evalb")
    subprocess.run(["gcc", "-w", "-o", program, os.path.join(EVALB, "evalb.c")], check=True)
    pairs = list(random_trees(13, 1500))
    for name, which in (("predicted", 0), ("gold", 1)):
        with open(tmp_path / name, "w") as file:
            for pair in pairs:
                words, tags = zip(*pair[1].pos())
                file.write(as_brackets(linearised(pair[which]), words, tags) + "\n")
    process = subprocess.run(
        [program, "-p", os.path.join(EVALB, "COLLINS.prm"), str(tmp_path / "gold"), str(tmp_path / "predicted")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
        check=True,
    )
    # Sentence by sentence: number, words, status, recall, precision, and the three counts.
    rows = [line.split() for line in process.stdout.splitlines() if re.match(r" *\d+ +\d+ +[012] ", line)]
    skipped = 0
    for row, (predicted, gold) in zip(rows, pairs, strict=True):
        found = bracket_counts(linearised(predicted), linearised(gold), [tag for _, tag in gold.pos()])
        if row[2] == "2":
            skipped += 1
            assert found.words == 0
        else:
            assert row[2] == "0" and [int(count) for count in row[5:8]] == [found.correct, found.gold, found.predicted]
    assert 10 < skipped < 500
    # In all.
    summary = process.stdout.split("-- All --")[1].split("-- len<=")[0]
    told = dict(re.findall(r"^(.*\S) += +([\d.]+)$", summary, re.MULTILINE))
    scores = {name: f"{score:.2f}" for name, score in scored(pairs).get_metric().items()}
    assert int(told["Number of Error sentence"]) == 0 and int(told["Number of Skip  sentence"]) == skipped
    assert scores == {
        "precision": told["Bracketing Precision"],
        "recall": told["Bracketing Recall"],
        "f1": told["Bracketing FMeasure"],
        "exact_match": told["Complete match"],
    }
    # Worth something only where the trees have much in common, and not all.
    assert 30 < float(scores["f1"]) < 90 and 10 < float(scores["exact_match"]) < 90
