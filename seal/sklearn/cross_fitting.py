"""Scores of rows by copies of an estimator that have not seen them."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import torch
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from seal.sklearn.label_scorers import EstimatorScores, Params, penalises_intercept, requesting_weights
from seal.sklearn.set_scorer import SetScorer
from seal.structure.label_sets import ClassifierScores


def split_rows(
    cv: Any,
    random_state: Any,
    X: Any,
    gold: numpy.ndarray,
    same: numpy.ndarray,
    groups: numpy.ndarray,
    weights: numpy.ndarray,
    of_splitter: Params,
) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """
    For each fold the rows to learn from and the rows to score. All have a weight above 0, and no row to learn from
    equals one to score.

    # Parameters

    cv, random_state : as for `StructuredClassifier`
    X : the rows
    gold : `numpy.ndarray`, `(rows, labels)`, boolean
    same, groups : `numpy.ndarray`, `(rows,)`
        A number for each row, equal for equal rows, and for the rows of a group.
    weights : `numpy.ndarray`, `(rows,)`
    of_splitter : `Params`
        The parameters of `fit` that are routed to `cv`.

    # Raises

    `ValueError` if a row is in both parts of a split, or not each row is scored once.
    """
    with warnings.catch_warnings():
        if not of_splitter:
            # The user gave no groups.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        splits = list(_splits(cv, random_state, X, gold, groups, weights > 0))
    folds = []
    for number, (seen, unseen) in enumerate(splits, 1):
        if both := sorted(set(seen) & set(unseen)):
            raise ValueError(
                f"cv: split {number} has {len(both)} rows in its training part and in its test part as well, such "
                f"as row {both[0]}; rows must be scored by a copy that has not seen them."
            )
        seen, unseen = seen[weights[seen] > 0], unseen[weights[unseen] > 0]
        seen = seen[~numpy.isin(same[seen], same[unseen])]
        if len(seen) == 0:
            raise ValueError(f"cv: in split {number} each row to learn from equals one of its test part.")
        if len(unseen):
            folds.append((seen, unseen))
    held = numpy.concatenate([unseen for _, unseen in folds])
    if len(numpy.unique(held)) < (weights > 0).sum():
        raise ValueError("cv: each row must be held out once; a shuffled split of a part of the rows does not do.")
    return folds


def _splits(
    cv: Any, random_state: Any, X: Any, gold: numpy.ndarray, groups: numpy.ndarray, there: numpy.ndarray
) -> Iterator[tuple[Any, Any]]:
    """The row numbers of the training part and the test part of each split. Folds are made of the rows `there`."""
    places = numpy.arange(len(gold))
    if not is_int(cv):
        for seen, unseen in check_cv(cv).split(X, gold, groups):
            yield places[seen], places[unseen]
        return
    numbers = numpy.unique(groups[there])
    if len(numbers) < cv:
        raise ValueError(
            f"cv: {cv} folds need as many groups of rows, found {len(numbers)} (n_samples = {len(gold)}); "
            "rows of equal features are one group."
        )
    for _, held in KFold(cv, shuffle=True, random_state=random_state).split(numbers):
        unseen = numpy.isin(groups, numbers[held])
        yield places[~unseen], places[unseen]


def held_out_scores(
    estimator: Any,
    sets: numpy.ndarray,
    X: Any,
    gold: numpy.ndarray,
    weights: numpy.ndarray,
    folds: list[tuple[numpy.ndarray, numpy.ndarray]],
    params: Params,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> tuple[ClassifierScores, str | None]:
    """
    Cross-fitting: the scores of each row by a copy that has seen neither it nor an equal one; and the error of
    scoring `sets`, if it failed. If the estimator penalises its intercept, the weights of each fold's rows are
    raised to the sum over all rows. With less weight the penalty would move the copies' probabilities away from
    the labels' frequencies, more than those of the final estimator, and thresholds would not transfer to it.
    """
    raises = False
    if "sample_weight" not in params and penalises_intercept(estimator):
        estimator, raises = requesting_weights(estimator), True
    tasks = []
    for number, (seen, unseen) in enumerate(folds, 1):
        fold_params = _check_method_params(X, params, seen)
        if raises or ("sample_weight" in params and penalises_intercept(estimator)):
            seen_weights = fold_params.get("sample_weight", numpy.ones(len(seen)))
            raised = seen_weights * weights.sum() / weights[seen].sum()
            fold_params = {**fold_params, "sample_weight": raised}
        whole = SetScorer(sets, len(gold)) if len(sets) else None
        message = f"Processing fold {number} of {len(folds)}" if verbose else None
        tasks.append((EstimatorScores(estimator, whole), X, gold, seen, unseen, fold_params, message))
    parts = Parallel(n_jobs=n_jobs)(delayed(_scores_of_fold)(*task) for task in tasks)
    logits, labels = torch.zeros(gold.shape), torch.zeros(gold.shape, dtype=torch.bool)
    failure = next((failure for _, failure in parts if failure is not None), None)
    log_prob = None if len(sets) == 0 or failure is not None else torch.full((len(gold), len(sets)), torch.nan)
    for (_, unseen), (scores, _) in zip(folds, parts, strict=True):
        logits[unseen], labels[unseen] = scores.logits, scores.labels
        if log_prob is not None:
            log_prob[unseen] = scores.log_prob
    if log_prob is None:
        return ClassifierScores(logits, labels=labels), failure
    return ClassifierScores(logits, torch.from_numpy(sets), log_prob, labels), None


def _scores_of_fold(
    scorer: EstimatorScores,
    X: Any,
    gold: numpy.ndarray,
    seen: numpy.ndarray,
    unseen: numpy.ndarray,
    params: Params,
    message: str | None,
) -> tuple[ClassifierScores, str | None]:
    """The scores of the rows `unseen` by a copy fitted to the rows `seen`, and the error of `SetScorer`, if any."""
    with _print_elapsed_time("StructuredClassifier", message):
        scorer.fit(_safe_indexing(X, seen), gold[seen], params)
        return scorer.of(_safe_indexing(X, unseen)), scorer.failure


def sets_of_several(gold: numpy.ndarray, groups: numpy.ndarray) -> numpy.ndarray:
    """
    The label sets that occur in at least two groups of rows, `(sets, labels)`. (The copy that scores a row has not seen
    its group, and cannot know a set of this group alone.)
    """
    sets, place = numpy.unique(gold, axis=0, return_inverse=True)
    pairs = numpy.unique(numpy.stack([place.reshape(-1), groups]), axis=1)
    return sets[numpy.bincount(pairs[0], minlength=len(sets)) > 1]


def is_int(value: Any) -> bool:
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool)
