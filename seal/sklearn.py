"""
`StructuredClassifier`: what `seal.structure` does for label sets, on top of any classifier with scikit-learn's
interface. Needs torch and scikit-learn; AllenNLP is not used.
"""

import warnings
from typing import Any

import numpy
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, check_cv
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from seal.structure.label_set_structure import LabelSetStructure

SCORES = {"f1_samples": "f1", "f1_micro": "micro_f1", "accuracy": "subset_accuracy"}
DECISIONS = ("auto", "own", "likeliest", "expected_score")
#: Probabilities of 0 and 1 (forests have such) have no log-odds.
LEAST = 1e-4


class StructuredClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """
    Multi-label classification by whole label sets, on top of a classifier of single labels.

    `fit` takes each row's scores from a copy of `estimator` that has not seen the row, learns from these which of the
    label sets of the training data go with which scores (an energy with few parameters), and lets a test on the same
    rows decide how far to follow it for each of three scores. Then `estimator` is fitted to all rows. If the structure
    gains nothing, predictions are the estimator's own, by the threshold that is best for the score.

    With one output a row (`y` of one dimension) there is no structure, and the estimator predicts alone.

    # Parameters

    estimator : classifier, optional (default = `None`)
        Of several labels, with `predict_proba` or `decision_function`; one of single labels is fitted to each label
        (`OneVsRestClassifier`). `None`: logistic regression.
    cv : `int`, splitter or iterable, optional (default = `3`)
        As in scikit-learn; an `int` is the number of shuffled folds.
    decision : `str`, optional (default = `"auto"`)
        `"auto"` chooses on the held-out scores, `"likeliest"` takes the likeliest set, `"expected_score"` the set of
        the best expected F1, `"own"` the estimator's labels.
    scoring : `str`, optional (default = `"f1_samples"`)
        The score for which `predict` decides, by scikit-learn's name: `"f1_samples"`, `"f1_micro"` or `"accuracy"`
        (subset accuracy).
    energies : `list[Union[str, dict]]`, optional (default = `None`)
        As for `LabelSetStructure`.
    constraints : `list[Constraint]`, optional (default = `None`)
        Rules of `seal.constraints`, which the decisions `"likeliest"` and `"expected_score"` keep whenever a set of the
        training data does. Labels are called by their number: `Implication({"3": "0"})`.
    num_likely : `int`, optional (default = `0`)
        As for `LabelSetStructure`: so many sets beside those of the training data compete.
    random_state : `int`, optional (default = `0`)
        Of the folds.

    # Attributes

    estimator_ : the estimator, fitted to all rows.
    structure_ : `LabelSetStructure`, or `None` with one output a row.
    report_ : `dict`, what was learned and chosen, and why.
    classes_, n_features_in_, feature_names_in_ : those of `estimator_`.

    # Raises

    `ValueError` if a setting is not known, or `y` is neither one column of classes nor a matrix of 0 and 1.
    """

    def __init__(
        self,
        estimator=None,
        cv=3,
        decision="auto",
        scoring="f1_samples",
        energies=None,
        constraints=None,
        num_likely=0,
        random_state=0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.decision = decision
        self.scoring = scoring
        self.energies = energies
        self.constraints = constraints
        self.num_likely = num_likely
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "StructuredClassifier":
        """
        # Parameters

        X : whatever `estimator` takes, one row an instance
        y : array or sparse matrix, `(rows, labels)`, 0 or 1; or `(rows,)`, classes
        """
        if self.decision not in DECISIONS:
            raise ValueError(f"decision: one of {', '.join(DECISIONS)} is needed, found {self.decision!r}.")
        if self.scoring not in SCORES:
            raise ValueError(f"scoring: one of {', '.join(SCORES)} is needed, found {self.scoring!r}.")
        if y is None:
            raise ValueError("StructuredClassifier requires y to be passed, but the target y is None")
        self.structure_, self.report_ = None, {}
        if type_of_target(y, input_name="y") != "multilabel-indicator":
            classes = y if numpy.asarray(y).ndim == 1 else column_or_1d(y, warn=True)
            self.estimator_ = clone(self._estimator()).fit(X, classes)
            return self
        gold = check_array(y, accept_sparse="csr", input_name="y")
        gold = numpy.asarray(gold.todense() if hasattr(gold, "todense") else gold).astype(bool)
        estimator = self._estimator()
        if not get_tags(estimator).classifier_tags.multi_label:
            estimator = OneVsRestClassifier(estimator)
        scores = self._held_out(estimator, X, gold)
        self.structure_ = LabelSetStructure(
            gold.shape[1], self.energies, num_likely=self.num_likely, constraints=self.constraints
        )
        self.report_ = self.structure_.fit(scores, torch.from_numpy(gold))
        self.estimator_ = clone(estimator).fit(X, gold.astype(int))
        return self

    def predict(self, X: Any) -> numpy.ndarray:
        """The labels by the decision for `scoring`: `(rows, labels)`, 0 or 1; or what the estimator predicts alone."""
        check_is_fitted(self)
        if self.structure_ is None:
            return self.estimator_.predict(X)
        score, scores = SCORES[self.scoring], self._scores(X)
        if self.decision == "own":
            labels = self.structure_.own(scores, score)
        elif self.decision == "auto":
            labels = self.structure_.decide(scores, score)
        else:
            labels = self.structure_.decide_by(scores, self.decision)
        return labels.numpy().astype(int)

    def marginals(self, X: Any) -> numpy.ndarray:
        """
        `sum_y q(y|x) y_l`, how likely each label is under the structure: `(rows, labels)`, 0 to 1. (No `predict_proba`,
        whose labels at 0.5 would have to be those of `predict`.)
        """
        check_is_fitted(self, "structure_")
        return self.structure_.marginals(self._scores(X)).numpy()

    @property
    def classes_(self):
        return self.estimator_.classes_

    @property
    def n_features_in_(self):
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self):
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator())
        tags.classifier_tags.multi_label = True
        tags.input_tags = inner.input_tags
        return tags

    def _estimator(self):
        return LogisticRegression() if self.estimator is None else self.estimator

    def _held_out(self, estimator, X: Any, gold: numpy.ndarray) -> torch.Tensor:
        """The log-odds of each row by a copy of the estimator that has not seen it."""
        folds = KFold(self.cv, shuffle=True, random_state=self.random_state) if _is_int(self.cv) else check_cv(self.cv)
        scores = torch.full(gold.shape, torch.nan)
        for seen, unseen in folds.split(X, gold):
            fitted = clone(estimator)
            with warnings.catch_warnings():
                # A label that only the fold has is not there for the others.
                warnings.filterwarnings("ignore", message="Label .* is present in all")
                fitted.fit(_safe_indexing(X, seen), gold[seen].astype(int))
            scores[unseen] = log_odds(fitted, _safe_indexing(X, unseen), gold.shape[1])
        if scores.isnan().any():
            raise ValueError("cv: each row must be held out once; a shuffled split of a part of the rows does not do.")
        return scores

    def _scores(self, X: Any) -> torch.Tensor:
        return log_odds(self.estimator_, X, self.structure_.num_labels)


def log_odds(estimator: Any, X: Any, num_labels: int) -> torch.Tensor:
    """
    A fitted classifier's log-odds of each label: `(rows, labels)`, from its probabilities, or its decision function
    where it has none.
    """
    if not hasattr(estimator, "predict_proba"):
        scores = numpy.asarray(estimator.decision_function(X), dtype=numpy.float32)
        return torch.from_numpy(scores.reshape(len(scores), num_labels))
    found = estimator.predict_proba(X)
    if isinstance(found, list):
        # One array a label, with a column for each class that was seen.
        found = numpy.stack(
            [
                columns[:, list(classes).index(1)] if 1 in classes else numpy.zeros(len(columns))
                for columns, classes in zip(found, estimator.classes_)
            ],
            axis=1,
        )
    probabilities = torch.from_numpy(numpy.asarray(found, dtype=numpy.float64).reshape(len(found), num_labels))
    return probabilities.clamp(LEAST, 1 - LEAST).logit().float()


def _is_int(cv: Any) -> bool:
    return isinstance(cv, (int, numpy.integer)) and not isinstance(cv, bool)
