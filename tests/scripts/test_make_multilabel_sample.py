"""The embedded multi-label sample: what the committed files have."""

import random
import re
from pathlib import Path

import pytest

from scripts.samples import make_multilabel_sample as script
from seal.tasks.multilabel.data_files import read_multilabel

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "multilabel_sample"
SPLITS = ("train", "valid", "test")

EXACTLY_ONE = (
    "italian french mexican indian thai japanese moroccan nordic",
    "breakfast starter main dessert beverage",
    "vegetarian meaty seafood",
)
IMPLIES = [("vegan", "vegetarian"), ("fiery", "spicy"), ("nightcap", "beverage")]


def read(folder, split):
    return read_multilabel(str(folder / f"{split}.arff"), label_xml=str(folder / "labels.xml"))


@pytest.fixture(scope="module")
def sample():
    return {split: read(DATA, split) for split in SPLITS}


@pytest.fixture(scope="module")
def rows(sample):
    """The label sets of each split."""
    return {split: label_sets(data) for split, data in sample.items()}


def label_sets(data):
    return [{data.label_names[place] for place in row.nonzero()[0]} for row in data.labels.toarray()]


def test_the_files_read_as_the_readme_says(sample, rows):
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    features, labels = map(int, re.search(r"(\d+) words .*?features, (\d+)\s+traits", readme, re.S).groups())
    for split, data in sample.items():
        assert data.features.shape[1] == features and data.labels.shape[1] == labels
        assert set(data.features.toarray().ravel().tolist()) == {0.0, 1.0}
        assert data.taxonomy is None
        cells = re.search(rf"^\| {split} \| (.*) \|$", readme, re.M)[1].split(" | ")
        assert int(cells[0]) == len(rows[split])
        assert float(cells[1]) == pytest.approx(data.features.sum() / len(rows[split]), abs=0.0051)
        assert float(cells[2]) == pytest.approx(sum(map(len, rows[split])) / len(rows[split]), abs=0.0051)
        assert int(cells[3]) == len(set(map(frozenset, rows[split])))
        assert int(cells[4]) == data.labels.toarray().sum(axis=0).min()


def test_only_the_xml_tells_the_labels(sample):
    names = re.findall(r"^@attribute (\S+) \{0,1\}$", (DATA / "train.arff").read_text(encoding="utf-8"), re.M)
    labels = sample["train"].label_names
    assert names == sorted(names) and len(names) == len(set(names))
    assert set(names) == {*labels, *sample["train"].feature_names}
    # Neither the first nor the last columns are the labels, and their order is another one than the XML's.
    assert not set(names[:3] + names[-3:]) & set(labels)
    assert [name for name in names if name in labels] != labels


@pytest.mark.parametrize("split", SPLITS)
def test_the_rules_hold_in_every_row(rows, split):
    for labels in rows[split]:
        for group in EXACTLY_ONE:
            assert len(labels & set(group.split())) == 1, labels
        assert not labels >= {"quick", "slow"}
        for label, implied in IMPLIES:
            assert label not in labels or implied in labels, labels


@pytest.mark.parametrize("split", SPLITS)
def test_every_label_is_positive_in_every_split(sample, rows, split):
    for label in sample[split].label_names:
        assert sum(label in labels for labels in rows[split]) >= 5, label
    assert 3 <= sum(map(len, rows[split])) / len(rows[split]) <= 5


def test_no_row_in_two_places(sample):
    words = [tuple(row.nonzero()[0]) for data in sample.values() for row in data.features.toarray()]
    assert len(words) == len(set(words)) and all(words)


def test_dishes_words_and_rules_fit_the_labels():
    assert [set(group) for group in script.EXACTLY_ONE] == [set(group.split()) for group in EXACTLY_ONE]
    assert list(script.IMPLIES) == IMPLIES and list(script.AT_MOST_ONE) == [["quick", "slow"]]
    assert set(script.WORDS) == set(script.LABELS) and len(script.LABELS) == len(set(script.LABELS))
    assert not set(script.LABELS) & set(script.vocabulary())
    for _, courses, diets, always, perhaps in script.read_dishes():
        assert set(courses) <= set(script.COURSES) and set(diets) <= {*script.DIETS, "vegan"}
        assert {*always, *perhaps} <= {*script.PACES, *script.STYLES}
        assert not {*always, *perhaps} >= {"quick", "slow"}
    others = {word for label, words in script.WORDS.items() if label not in script.RARE for word in words.split()}
    for rare, rule in script.RARE_RULES:
        assert rare in script.RARE and set(re.split("[ /]", rule)) <= set(script.LABELS)
        assert set(script.WORDS[rare].split()) <= others


def test_a_rare_label_follows_from_others(rows):
    """Where its rule fits, a rare label is the likely answer; where not, it is all but absent."""
    everywhere = [labels for split in SPLITS for labels in rows[split]]
    for rare, rule in script.RARE_RULES:
        fitting = [rare in labels for labels in everywhere if script.fits(labels, rule)]
        others = [rare in labels for labels in everywhere if not script.fits(labels, rule)]
        assert sum(fitting) / len(fitting) > 0.75 and sum(others) / len(others) < 0.01


def test_labels_of_a_dish_go_together(rows):
    """Most label sets of test occur in train; with every label dealt anew to the rows, hardly any would."""
    known = {frozenset(labels) for labels in rows["train"]}

    def share(sets):
        return sum(frozenset(labels) in known for labels in sets) / len(sets)

    dealt, rng = [set() for _ in rows["test"]], random.Random(1)
    for label in sorted(set().union(*rows["test"])):
        for place in rng.sample(range(len(dealt)), sum(label in labels for labels in rows["test"])):
            dealt[place].add(label)
    assert share(rows["test"]) > 0.7 and share(dealt) < 0.05
