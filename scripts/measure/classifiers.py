"""Label sets by scikit-learn's classifiers, alone and under `seal.sklearn`: what `scripts/structure.py` measures."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from allennlp.data import DatasetReader
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.preprocessing import StandardScaler

from scripts.measure.configs import library_value
from scripts.measure.suite import UserError
from seal.sklearn import StructuredClassifier, log_odds
from seal.sklearn.rows import equal_rows
from seal.structure.scores import LABEL_SET_SCORES, Ratio
from seal.structure.thresholds import best_threshold_for
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.text.reader import TextMultilabelReader

CHAINS = 10
MOST_CLASSES = 500
"""A powerset has a class for each label set of the training data; with more it is left out."""
ENOUGH_ROWS = 1000
"""So many rows choose a setting; a fifth of a small data set would do so by chance."""


class Data(NamedTuple):
    """Rows and their labels, as booleans; `train` has the validation data, too."""

    train: Any
    train_gold: numpy.ndarray
    test: Any
    test_gold: numpy.ndarray

    def shuffled(self, seed: int) -> "Data":
        """All rows in another order, of which at most as many are training data; no row of these equals one of test."""
        rows = sparse.vstack if sparse.issparse(self.train) else numpy.concatenate
        found, gold = rows([self.train, self.test]), numpy.concatenate([self.train_gold, self.test_gold])
        found = found.tocsr() if sparse.issparse(found) else found
        groups = equal_rows(found)
        order = numpy.random.default_rng(seed).permutation(groups.max() + 1)
        seen = numpy.bincount(groups)[order].cumsum() <= len(self.train_gold)
        in_train = seen[order.argsort()][groups]
        train, test = numpy.flatnonzero(in_train), numpy.flatnonzero(~in_train)
        return Data(found[train], gold[train], found[test], gold[test])


def read(name: str) -> Data:
    """
    A data set of `multilabel.libsonnet` (features), as `text:NAME` of `text.libsonnet` (TF-IDF), or as
    `folder:NAME` the ARFF files and the XML of `data/NAME` or of any folder; `texts:FOLDER` has files of texts of any
    format of the reader `seal_text_multilabel`. Vectors that are mostly not 0 are standardised.
    """
    kind, _, dataset = name.partition(":") if ":" in name else ("", "", name)
    if kind == "folder":
        known = Path("data", dataset)
        folder = Path(dataset) if Path(dataset).is_dir() and not known.is_dir() else known
        labels = list(folder.glob("*.xml"))
        if len(labels) != 1:
            raise UserError(f"--data {name}: {folder} must have train.arff, valid.arff, test.arff and one .xml.")
        found = {split: str(folder / f"{split}.arff") for split in ("train", "valid", "test")}
        found["reader"] = {"label_xml": str(labels[0])}
    elif kind == "texts":
        found = {"reader": {}}
        for split in ("train", "dev", "test"):
            files = [path for path in sorted(Path(dataset).glob(f"{split}.*")) if path.is_file()]
            if len(files) != 1:
                raise UserError(
                    f"--data {name}: {dataset} must have one file of texts each: train.*, dev.* and test.*."
                )
            found[split] = str(files[0])
    else:
        sets = library_value("text.libsonnet" if kind == "text" else "multilabel.libsonnet", "lib.data")
        if dataset not in sets or kind not in ("", "text"):
            raise UserError(f"--data: there is no '{name}' here; there are {', '.join(sets)}.")
        found = sets[dataset]
    for split in ("train", "valid", "dev", "test"):
        path = Path(found.get(split, ".").partition("#")[0])
        if not path.exists():
            raise UserError(f"--data {name}: there is no {path}; data/README.md says where it comes from.")
    if kind in ("text", "texts"):
        return _texts(found)
    reader = MultilabelReader(**found["reader"])
    tables = [reader.read_table(found[split]) for split in ("train", "valid", "test")]
    features, gold = [], []
    for table in tables:
        batch = table.batch(numpy.arange(len(table)))
        features.append(batch["features"].numpy())
        gold.append(batch["labels"].numpy().astype(bool))
    train, test = numpy.concatenate(features[:2]), features[2]
    if (train != 0).mean() < 0.2:
        # Words and the like: liblinear takes a fraction of the time.
        train, test = sparse.csr_matrix(train), sparse.csr_matrix(test)
    else:
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    return Data(train, numpy.concatenate(gold[:2]), test, gold[2])


def _texts(found: dict[str, Any]) -> Data:
    reader = DatasetReader.by_name("seal_text_multilabel")(**found["reader"])
    assert isinstance(reader, TextMultilabelReader)
    splits = {split: list(reader.texts(found[split])) for split in ("train", "dev", "test")}
    train = splits["train"] + splits["dev"]
    names = sorted({name for _, labels in train for name in labels})
    column = {name: i for i, name in enumerate(names)}

    def gold(rows: Any) -> numpy.ndarray:
        result = numpy.zeros((len(rows), len(names)), dtype=bool)
        for row, (_, labels) in zip(result, rows):
            row[[column[name] for name in labels if name in column]] = True
        return result

    words = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2), max_features=50000)
    vectors = words.fit_transform([text for text, _ in train])
    return Data(vectors, gold(train), words.transform([text for text, _ in splits["test"]]), gold(splits["test"]))


def logistic_regression(c: float, seed: int) -> OneVsRestClassifier:
    """By liblinear, which penalises the intercept as well."""
    return OneVsRestClassifier(LogisticRegression(C=c, solver="liblinear", random_state=seed))


def by_lbfgs(c: float, seed: int) -> OneVsRestClassifier:
    return OneVsRestClassifier(LogisticRegression(C=c, max_iter=1000))


def forest(leaf: int, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(100, min_samples_leaf=leaf, max_features="sqrt", random_state=seed)


TASK_NETS: dict[str, tuple[Callable[..., Any], tuple]] = {
    "logistic regression": (logistic_regression, (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)),
    "logistic regression by lbfgs": (by_lbfgs, (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)),
    "random forest": (forest, (1, 3)),
}


def maker(name: str, setting: float) -> Callable[[int], Any]:
    """Makes the task-net of a seed."""
    return partial(TASK_NETS[name][0], setting)


def chosen_setting(name: str, data: Data) -> float:
    """
    The task-net's setting of its grid of the best example F1, threshold tuned, on held-out rows of the training data:
    on as many fifths, each scored by a copy fitted to the other four, as have 1,000 rows together, at most all of them.
    """
    make, grid = TASK_NETS[name]
    fifths = list(KFold(5, shuffle=True, random_state=13).split(data.train_gold))
    enough = next((number for number in range(1, 5) if number * len(fifths[0][1]) >= ENOUGH_ROWS), 5)
    gold = torch.from_numpy(numpy.concatenate([data.train_gold[unseen] for _, unseen in fifths[:enough]]))
    best = None
    for setting in grid:
        found = []
        for seen, unseen in fifths[:enough]:
            fitted = make(setting, 0).fit(data.train[seen], data.train_gold[seen].astype(int))
            found.append(log_odds(fitted, data.train[unseen], data.train_gold.shape[1]).sigmoid())
        probabilities = torch.cat(found)
        threshold = best_threshold_for("f1", probabilities, gold)
        score = LABEL_SET_SCORES["f1"](probabilities >= threshold, gold).value
        if best is None or score > best[0]:
            best = (score, setting)
    assert best is not None
    return best[1]


def measure(data: Data, make: Callable[[int], Any], seed: int) -> dict[str, Any]:
    """
    What a task-net has on the test data by thresholds tuned on held-out scores (`own`), and with structure: by row and
    score the numerators and denominators of `seal.structure.scores`, what was learned, and the CPU seconds it took.
    """
    began = time.process_time()
    alone = make(seed).fit(data.train, data.train_gold.astype(int))
    alone_seconds = time.process_time() - began
    began = time.process_time()
    log_odds(alone, data.test, data.test_gold.shape[1])
    predicting = time.process_time() - began
    began = time.process_time()
    fitted = StructuredClassifier(make(seed), random_state=seed).fit(data.train, data.train_gold.astype(int))
    seconds = time.process_time() - began
    began = time.process_time()
    scores = fitted.scores(data.test)
    structured = fitted.structure_.decide_all(scores)
    # The time beyond the classifier's own scores, with the scores of whole sets.
    deciding = max(time.process_time() - began - predicting, 0.0)
    gold = torch.from_numpy(data.test_gold)
    rows = {}
    for score, ratio in LABEL_SET_SCORES.items():
        for name, labels in (
            ("own", fitted.structure_.task_net_labels(scores, score)),
            ("structured", structured[score]),
        ):
            rows[f"{name} {score}"] = _by_row(ratio(labels, gold))
    competes = fitted.structure_.set_index().of(gold) >= 0
    report = {
        **fitted.report_,
        "test_gold_competes": competes.float().mean().item(),
        "seconds": {
            "estimator": alone_seconds,
            "with structure": seconds,
            "predict": predicting,
            "decide": deciding,
        },
    }
    return {"rows": rows, "report": report}


def others(data: Data, make: Callable[[int], Any], seed: int) -> dict[str, dict[str, list]]:
    """
    What scikit-learn and scikit-multilearn have for dependent labels, over logistic regression, has on the test data:
    by its name and score the numerator and denominator of each row, and the CPU seconds of fit and prediction.
    """
    single = make(seed).estimator
    # A chain cannot learn a label that no row has.
    there = data.train_gold.any(axis=0) & ~data.train_gold.all(axis=0)
    labels = data.train_gold[:, there].astype(int)

    def of_all(values: numpy.ndarray) -> numpy.ndarray:
        """Labels of the test data, from values of those that were learned."""
        predicted = numpy.tile(data.train_gold.all(axis=0), (len(data.test_gold), 1))
        predicted[:, there] = values > 0.5
        return predicted

    chains, fits = [], []
    for number in range(seed, seed + CHAINS):
        chain = ClassifierChain(clone(single), order="random", random_state=number)
        fits.append(_seconds(lambda: chain.fit(data.train, labels))[1])
        chains.append(chain)
    one, took_one = _seconds(lambda: chains[0].predict(data.test))
    mean, took_all = _seconds(lambda: numpy.mean([chain.predict_proba(data.test) for chain in chains], axis=0))
    found = {
        "classifier chain": (of_all(one), [fits[0], took_one]),
        f"ensemble of {CHAINS} chains": (of_all(mean), [sum(fits), took_all]),
    }
    sets, classes = numpy.unique(data.train_gold, axis=0, return_inverse=True)
    if len(sets) <= MOST_CLASSES:
        powerset = OneVsRestClassifier(clone(single))
        _, fit = _seconds(lambda: powerset.fit(data.train, classes.reshape(-1)))
        predicted, took = _seconds(lambda: sets[powerset.predict(data.test)])
        found["label powerset"] = predicted, [fit, took]
    rakel = _rakel(clone(single), labels.shape[1])
    if rakel is not None:
        _, fit = _seconds(lambda: rakel.fit(data.train, labels))
        values, took = _seconds(lambda: rakel.predict(data.test).toarray())
        found["RAkEL"] = of_all(values), [fit, took]
    gold = torch.from_numpy(data.test_gold)
    return {
        name: {
            score: _by_row(ratio(torch.from_numpy(predicted), gold)).tolist()
            for score, ratio in LABEL_SET_SCORES.items()
        }
        | {"seconds": took}
        for name, (predicted, took) in found.items()
    }


def _rakel(single: Any, number: int) -> Any:
    """
    Powersets of random sets of three labels, twice as many as there are labels (Tsoumakas & Vlahavas 2007), of
    scikit-multilearn (requirements-measure.txt); `None` without that library, or with too few labels.
    """
    try:
        from skmultilearn.ensemble import RakelO
    except ImportError:
        return None
    return RakelO(OneVsRestClassifier(single), labelset_size=3, model_count=2 * number) if number > 3 else None


def _seconds(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call, and its CPU seconds."""
    began = time.process_time()
    found = call()
    return found, time.process_time() - began


def _by_row(ratio: Ratio) -> numpy.ndarray:
    return torch.stack([ratio.numerators, ratio.denominators], dim=1).numpy()
