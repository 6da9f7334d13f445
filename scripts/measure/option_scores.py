"""
What each option of a structure's gate scores on validation and test data of many data sets: what `scripts/gates.py`
keeps of them, so that gates can be compared in seconds.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy
import torch
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from torch import nn

from scripts.improve_tagger import read_frames
from scripts.measure import classifiers
from seal.common.equal_contents import numbered
from seal.sklearn import StructuredClassifier, log_odds, structured_classifier
from seal.structure import LabelSetStructure
from seal.structure.label_sets import ClassifierScores
from seal.tagger import StructuredTagger, cross_fit

#: Of label sets, so many rows at most are learned from, and are tested, with as many of the labels, the most frequent.
MOST_ROWS, MOST_TESTED, MOST_LABELS = 1200, 2000, 100
#: By their names in tables those of `classifiers.read`.
LABEL_SETS = {
    "yeast": "folder:yeast",
    "enron": "folder:enron",
    "medical": "folder:medical",
    "genbase": "genbase",
    "bibtex": "bibtex",
    "corel5k": "folder:corel5k",
    "delicious": "delicious",
    "expr_fun": "expr_fun",
    "spo_fun": "spo_fun",
    "reuters": "text:reuters",
    "goemotions": "text:goemotions",
    "recipes (made up)": "sample",
    "notes (made up)": "text:sample",
}
NETS: dict[str, Callable[[int], Any]] = {
    "logistic regression": lambda seed: LogisticRegression(C=1.0, solver="liblinear", random_state=seed),
    "SGD": lambda seed: SGDClassifier(loss="log_loss", alpha=3e-4, random_state=seed),
}
#: Of these no logistic regressions are fitted, which take minutes.
SLOW = ("expr_fun", "spo_fun")
#: By data set the sizes of the training data; 0 is all.
TAGS = {
    "EWT frames": (600, 2500),
    "frames (made up)": (0,),
    "WNUT-17": (800, 0),
    "market notes (made up)": (0,),
    "Cora": (0,),
    "EWT parts of speech": (300, 2000),
    "Twitter parts of speech": (0,),
}


class Setup(NamedTuple):
    """A data set, its task-net or number of sentences, and a seed."""

    family: str
    data: str
    net: str
    seed: int

    @property
    def file(self) -> str:
        return re.sub(r"\W+", "_", f"{self.family} {self.data} {self.net} {self.seed}") + ".pt"


def setups(seeds: int) -> Iterator[Setup]:
    for seed in range(1, seeds + 1):
        first, *rest = NETS
        yield from (Setup("label sets", data, first, seed) for data in LABEL_SETS if data not in SLOW)
        for data, sizes in TAGS.items():
            family = "words" if "speech" in data else "spans"
            yield from (Setup(family, data, f"{size} sentences" if size else "all", seed) for size in sizes)
        yield from (Setup("label sets", data, net, seed) for net in rest for data in LABEL_SETS)


def noisy_setups() -> Iterator[Setup]:
    """The data whose gold is drawn anew: label sets and tags that take seconds."""
    for seed in (1, 2):
        nets = ("yeast", "logistic regression"), ("medical", "logistic regression"), ("reuters", "SGD")
        yield from (Setup("label sets", data, net, seed) for data, net in nets)
    yield Setup("words", "EWT parts of speech", "300 sentences", 1)
    yield Setup("spans", "frames (made up)", "all", 1)


def collect(setup: Setup, noise: bool = False) -> dict[str, Any]:
    """The gate's input on validation data, and the same for test data; with `noise`, gold is random."""
    torch.set_num_threads(1)
    return label_sets(setup, noise) if setup.family == "label sets" else tags(setup, noise)


class _Kept(LabelSetStructure):
    """Saves the gate's input."""

    def _choose(self, scores, q, gold, groups=None, weights=None):
        self.seen = {**_part(scores, q, gold), "groups": groups}
        return super()._choose(scores, q, gold, groups, weights)


def _part(scores: ClassifierScores, q: torch.Tensor, gold: torch.Tensor) -> dict[str, Any]:
    kept = {"marginals": q[:, 0].half(), "sets": q[:, 1:].bool()}
    return {"own": scores.logits.sigmoid().half(), "q": kept, "gold": gold, "predicted": scores.labels}


def label_sets(setup: Setup, noise: bool = False) -> dict[str, Any]:
    rows = classifiers.read(LABEL_SETS[setup.data])
    chance = numpy.random.default_rng(setup.seed)
    train = chance.permutation(rows.train.shape[0])[:MOST_ROWS]
    test = chance.permutation(rows.test.shape[0])[:MOST_TESTED]
    X, gold, new, wanted = rows.train[train], rows.train_gold[train], rows.test[test], rows.test_gold[test]
    counts = numpy.where(gold.all(axis=0), 0, gold.sum(axis=0))
    seen = sorted((-counts).argsort(kind="stable")[: min(MOST_LABELS, int((counts > 0).sum()))])
    gold, wanted = gold[:, seen], wanted[:, seen]
    make = NETS[setup.net]
    if noise:
        gold, wanted = (drawn(_scores(make(setup.seed), X, gold, rows), chance) for rows in (X, new))
    with mock.patch.object(structured_classifier, "LabelSetStructure", _Kept):
        fitted = StructuredClassifier(OneVsRestClassifier(make(setup.seed)), random_state=setup.seed).fit(X, gold)
    scores = fitted.scorer_.of(new)
    found = _part(scores, fitted.structure_._outputs(scores), torch.from_numpy(wanted))
    return {"valid": fitted.structure_.seen, "test": found, "report": fitted.report_}


def _scores(single: Any, X: Any, gold: numpy.ndarray, new: Any) -> torch.Tensor:
    there = gold.any(axis=0) & ~gold.all(axis=0)
    found = torch.full((new.shape[0], gold.shape[1]), -9.2)
    found[:, torch.from_numpy(gold.all(axis=0))] = 9.2
    fitted = OneVsRestClassifier(single).fit(X, gold[:, there].astype(int))
    found[:, torch.from_numpy(there)] = log_odds(fitted, new, int(there.sum())).float()
    return found


def drawn(log_odds: torch.Tensor, chance: numpy.random.Generator) -> numpy.ndarray:
    """Labels one by one by their probabilities: no label says anything of another that the features do not."""
    return chance.random(log_odds.shape) < log_odds.sigmoid().numpy()


# Tags.


class Sentence(NamedTuple):
    words: list[str]
    tags: list[str]
    #: Of frames.
    predicate: int | None = None


def tags(setup: Setup, noise: bool = False) -> dict[str, Any]:
    train, valid, test = sentences(setup.data)
    size = int(setup.net.split()[0]) if setup.net[0].isdigit() else len(train)
    chance = numpy.random.default_rng(setup.seed)
    train = [train[place] for place in chance.permutation(len(train))[:size]]
    labels = sorted({tag for one in train for tag in one.tags})
    if "speech" not in setup.data and setup.data != "Cora":
        labels = sorted({*labels, *(f"B-{tag[2:]}" for tag in labels if tag != "O")})
    valid, test = ([one for one in part if set(one.tags) <= set(labels)] for part in (valid, test))
    encoding = None if "speech" in setup.data else "IO" if setup.data == "Cora" else "BIO"

    def fitted(seen: Sequence[Sentence]) -> "LinearNet":
        return LinearNet(seen, labels, setup.seed)

    net = fitted(train)
    tagger = StructuredTagger(labels, encoding)
    if noise:
        # Gold is drawn from the net's distribution, so that an energy has nothing to learn.
        torch.manual_seed(setup.seed)
        train, valid, test = (
            [one._replace(tags=_draw(tagger, rows)) for one, rows in zip(part, net.emissions(part))]
            for part in (train, valid, test)
        )
    held_out = net.emissions(train) if noise else cross_fit(
        lambda seen, unseen: fitted(seen).emissions(unseen), train, groups=[" ".join(one.words) for one in train],
        seed=setup.seed, say=lambda text: None,
    )  # fmt: skip
    given = {"emissions": net.emissions(valid), "gold": [one.tags for one in valid], **_sees(valid)}
    tagger.fit(held_out, [one.tags for one in train], valid=given, **_sees(train))
    found = {}
    for name, part, emissions in (("valid", valid, given["emissions"]), ("test", test, net.emissions(test))):
        sees = _sees(part)
        rows = list(tagger._read(emissions, [one.tags for one in part], None, sees.get("keys"), None, sees["words"],
                                 sees.get("predicates")))  # fmt: skip
        paths = [paths for _, paths in tagger._paths(rows, tagger.structure_, tagger.needs)]
        found[name] = {
            "options": {
                score: {option: torch.stack([ratio.numerators, ratio.denominators]) for option, ratio in ratios.items()}
                for score, ratios in tagger.structure_.options(paths).items()
            },
            "groups": numbered(content for one in paths for content in one.inputs()),
        }
    return {**found, "report": tagger.report_}


def _draw(tagger: StructuredTagger, emissions: torch.Tensor) -> list[str]:
    mask = torch.ones(1, len(emissions), dtype=torch.bool)
    return [tagger.labels[tag] for tag in tagger._space.sample(emissions.unsqueeze(0), 1, mask)[0, 0].tolist()]


def _sees(part: Sequence[Sentence]) -> dict[str, Any]:
    found: dict[str, Any] = {"words": [one.words for one in part]}
    if part[0].predicate is not None:
        found["predicates"] = [one.predicate for one in part]
        found["keys"] = [one.words[one.predicate or 0].lower() for one in part]
    return found


def sentences(data: str) -> list[list[Sentence]]:
    """Training, validation and test data."""
    if "frames" in data:
        folder = Path("data/srl_sample" if "made up" in data else "data/ewt_propbank_srl")
        parts = [_frames(path) if path.exists() else [] for path in (folder / f"{x}.gold_conll" for x in SPLITS)]
        return parts if parts[2] else [parts[0][:-1500], parts[0][-1500:], parts[1][:1500]]
    if data == "WNUT-17":
        names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
        return [_columns(Path("data/wnut17") / name) for name in names]
    if data == "market notes (made up)":
        return [_columns(Path(f"data/tagging_sample/{split}.tsv"), -1) for split in SPLITS]
    if data == "Twitter parts of speech":
        return [_columns(Path(f"data/twitter_pos/oct27.{split}")) for split in SPLITS]
    if data == "EWT parts of speech":
        train, dev = (_columns(Path(f"data/ud_ewt_pos/{split}.tsv")) for split in SPLITS[:2])
        return [train[:-1200], train[-1200:], dev[:1500]]
    train, test = (_columns(Path(f"data/cora_citation/ref.{split}")) for split in ("train", "test"))
    return [train[:-100], train[-100:], test]


SPLITS = ("train", "dev", "test")


def _frames(path: Path, longest: int = 30) -> list[Sentence]:
    return [Sentence(frame.words, frame.tags, frame.predicate) for frame in read_frames(path, longest)]


def _columns(path: Path, column: int = 1) -> list[Sentence]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") if "\t" in line else line.split() for line in lines if not line.startswith("# ")]
    parts = [list(some) for full, some in groupby(rows, key=lambda row: len(row) > 1 and bool(row[1].strip())) if full]
    # A few tokens of WNUT-17's test data have two tags.
    return [
        Sentence([row[0] for row in part], [row[column].strip().partition(",")[0] for row in part]) for part in parts
    ]


class LinearNet:
    """A softmax classifier of each token by its words and those beside it, their shapes and ends."""

    SIZE = 2**17

    def __init__(self, seen: Sequence[Sentence], labels: Sequence[str], seed: int, epochs: int = 4) -> None:
        torch.manual_seed(seed)
        self._net = nn.EmbeddingBag(self.SIZE, len(labels), mode="sum", sparse=True)
        nn.init.zeros_(self._net.weight)
        index = {label: place for place, label in enumerate(labels)}
        features = [found for one in seen for found in self._features(one)]
        gold = torch.tensor([index[tag] for one in seen for tag in one.tags])
        table = torch.tensor(features)
        optimizer = torch.optim.SparseAdam(self._net.parameters(), lr=0.02)
        for _ in range(epochs):
            for places in torch.randperm(len(gold)).split(256):
                loss = nn.functional.cross_entropy(self._net(table[places]), gold[places])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def _features(self, one: Sentence) -> list[list[int]]:
        padded = ["<<", "<", *one.words, ">", ">>"]
        verb = None if one.predicate is None else one.words[one.predicate].lower()
        found = []
        for place, word in enumerate(one.words):
            low = word.lower()
            shape = re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "0", word)))
            before, after = padded[place + 1].lower(), padded[place + 3].lower()
            names = [
                f"w{low}",
                f"-{before}",
                f"+{after}",
                f"s{shape}",
                f"e{low[-3:]}",
                f"b{low[:3]}",
                f"p{before} {low}",
            ]
            names += [f"2{padded[place].lower()}", f"3{padded[place + 4].lower()}", f"n{low} {after}", "always"]
            if verb is not None and one.predicate is not None:
                far = max(-6, min(6, place - one.predicate))
                names += [f"d{far}", f"v{verb} {far}", f"x{verb} {low}", f"y{far} {low}", f"z{far} {before}"]
            found.append([digest(name) % self.SIZE for name in names])
        return found

    @torch.no_grad()
    def emissions(self, unseen: Sequence[Sentence]) -> list[torch.Tensor]:
        rows = [self._net(torch.tensor(self._features(one))) for one in unseen]
        return [scores.log_softmax(dim=1) for scores in rows]


def digest(name: str) -> int:
    import zlib

    return zlib.crc32(name.encode())
