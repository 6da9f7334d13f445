"""The embedded tagging sample: what the committed files have."""

import math
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from scripts.samples import make_tagging_sample as script
from seal.tasks.tagging.reader import TaggingReader

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "tagging_sample"
SPLITS = ("train", "dev", "test")
ENTITIES = {"SEL", "ITM", "LOC", "DAY", "PRC"}


def read(folder, split):
    """Notes as lists of `(word, tag)`, through the reader, which checks the encoding."""
    reader = TaggingReader(encoding="BIO", feature_columns={"kind": 1})
    instances = reader.read(str(folder / f"{split}.tsv"))
    return [list(zip(i["metadata"]["words"], i["metadata"]["tags"])) for i in instances]


@pytest.fixture(scope="module")
def sample():
    return {split: read(DATA, split) for split in SPLITS}


def test_layout(sample):
    tags = {"O"} | {f"{prefix}-{entity}" for prefix in "BI" for entity in ENTITIES}
    for split in SPLITS:
        assert {tag for note in sample[split] for _, tag in note} == tags
        for line in (DATA / f"{split}.tsv").read_text(encoding="utf-8").splitlines():
            assert not line or re.fullmatch(r"[^\t ]+\t(NUM|CAP|LOW|PUN)\t[A-Z-]+", line)


def test_no_note_in_two_places(sample):
    texts = [" ".join(word for word, _ in note) for split in SPLITS for note in sample[split]]
    assert len(texts) == len(set(texts))


def test_entities_keep_a_clerk_s_order(sample):
    orders = [order.split() for order in script.CLERKS]
    used = Counter()
    for split in SPLITS:
        for note in sample[split]:
            entities = [tag[2:] for _, tag in note if tag[0] == "B"]
            assert 2 <= len(entities) == len(set(entities))
            fitting = [n for n, order in enumerate(orders) if [e for e in order if e in entities] == entities]
            assert fitting
            used.update(fitting)
    assert all(used[n] > 150 for n in range(len(orders)))


def test_words_shared_between_entities(sample):
    entities = defaultdict(set)
    for word, tag in (row for note in sample["train"] for row in note):
        entities[word].add(tag[2:])
    assert entities["Rose"] == {"SEL", "ITM", "LOC"} and entities["June"] == {"SEL", "DAY"}
    assert entities["Hill"] == {"SEL", "LOC"} and entities["20"] >= {"ITM", "DAY", "PRC"}


def test_the_order_of_tags_says_what_words_do_not(sample):
    # A hidden Markov model with counts from train, and the same without its transitions.
    emitted, followed = defaultdict(Counter), defaultdict(Counter)
    for note in sample["train"]:
        for word, tag in note:
            emitted[tag][word] += 1
        tags = [tag for _, tag in note]
        for before, after in zip(["start", *tags], [*tags, "end"]):
            followed[before][after] += 1
    tags = sorted(emitted)

    def log_share(counter, key):
        return math.log((counter[key] + 0.1) / (sum(counter.values()) + 0.1 * len(tags)))

    def best_path(words):
        paths = {tag: (log_share(followed["start"], tag) + log_share(emitted[tag], words[0]), [tag]) for tag in tags}
        for word in words[1:]:
            paths = {
                tag: max((score + log_share(followed[path[-1]], tag) + log_share(emitted[tag], word), [*path, tag])
                         for score, path in paths.values())
                for tag in tags
            }  # fmt: skip
        return max((score + log_share(followed[path[-1]], "end"), path) for score, path in paths.values())[1]

    right, alone, total = 0, 0, 0
    for note in sample["test"]:
        words, gold = zip(*note)
        right += sum(one == other for one, other in zip(best_path(words), gold))
        for word, tag in note:
            alone += max(tags, key=lambda candidate: emitted[candidate][word]) == tag
        total += len(note)
    assert 0.55 < alone / total < 0.70 and 0.82 < right / total < 0.92
