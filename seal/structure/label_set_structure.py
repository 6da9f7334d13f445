"""`LabelSetStructure`, which reranks label sets, and the options that its gate compares."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Optional

import torch
from torch.nn import functional as F

from seal.common.setting_checks import check_whole, require
from seal.constraints import Constraint
from seal.registry import ConfigurationError
from seal.structure.calibration import CalibrationData
from seal.structure.decisions import Likeliest
from seal.structure.joint_score import log_prob_of
from seal.structure.label_calibration import LabelCalibration
from seal.structure.label_set_objective import LabelSetObjective, is_factored
from seal.structure.label_set_options import PLACES, blended, labels_above, options_for
from seal.structure.label_set_pool import LabelSetPool
from seal.structure.label_sets import ClassifierScores, LabelSetCandidates, SetIndex, known_sets
from seal.structure.linear_system import Objective
from seal.structure.row_parts import cross_fitting_parts, occurrences_in_group, selected
from seal.structure.scores import LABEL_SET_SCORES, gold_among_candidates, label_set_scores
from seal.structure.serialization import resize_buffers
from seal.structure.structure import Structure, declare, logger, make_energies

# The energies have few parameters: a random sample of at most `MOST_ROWS` rows is enough, and of `LEAST_ROWS` or more
# where there are many candidates.
MOST_ROWS, LEAST_ROWS = 6000, 1500
ENERGIES = ("label_scores", "set_count", "set_size", "label_pairs")


class _Judged(NamedTuple):
    """
    The rows on which the gate judges the options, with the outputs of energies that were not learned on the row.

    # Parameters

    scores : `ClassifierScores`
    gold : `torch.BoolTensor`, `(rows, labels)`
    outputs : `torch.Tensor`, `(rows, 3 or 4, labels)`
        The results of `LabelSetStructure._outputs`.
    gold_competes : `torch.BoolTensor`, `(rows,)`
        Whether gold is a candidate.
    groups, weights : `torch.Tensor`, `(rows,)`, optional
    calibration_data : `list[CalibrationData]`
    """

    scores: ClassifierScores
    gold: torch.Tensor
    outputs: torch.Tensor
    gold_competes: torch.Tensor
    groups: torch.Tensor | None
    weights: torch.Tensor | None
    calibration_data: list[CalibrationData]


@Structure.register("label_sets")
class LabelSetStructure(Structure):
    """
    Reranks label sets on top of any classifier's scores of labels. The candidates are the label sets of the training
    data and, with `num_likely`, each instance's likeliest sets.

    For each of the scores `f1` (mean over instances), `micro_f1` and `subset_accuracy` the gate chooses on held-out
    data between these options:

    - `own`: the labels `l` whose probability `p_l` under the task-net is at least a threshold, tuned for the score. If
      no label passes, the single likeliest one is predicted where this has the better score;
    - `blend b`: the same with the probability `(1 - b) p_l + b m_l`, where `m_l = sum_y q(y|x) y_l` is the structured
      marginal;
    - `likeliest` and `expected_score`: see `seal.structure.decisions`;
    - `predict`: the classifier's own predictions, if `ClassifierScores` has them;
    - `powerset`, for `subset_accuracy`: the likeliest set under a classifier of whole sets alone, if
      `ClassifierScores` has its probabilities and no constraint is declared.

    # Parameters

    num_labels : `int`
    energies : `list[Union[str, dict]]`, optional (default = `["label_scores", "set_count", "set_size", "label_pairs"]`)
        The terms of the energy by their registered names, alone or with settings.
    most_sets : `int`, optional (default = `20000`)
        The most label sets of the training data that are candidates; the most frequent ones are taken.
    num_likely : `int`, optional (default = `0`)
        So many of each instance's likeliest sets under independent labels are candidates too, even if they never
        occurred: for data with hundreds of labels, most of whose sets are new.
    constraints : `list[Constraint]`, optional
        Rules that the chosen set keeps if any candidate does: see `seal.constraints`. Where the labels of a threshold
        break a rule, the likeliest set that keeps it replaces them: under the task-net for `own`, under `q` for a
        blend.
    names : `list[str]`, optional
        The names of the labels in constraints; the default is their numbers, from `"0"`.
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row without gold labels and without predicted ones. In a config, that of the model.
    most_rows : `int`, optional (default = `20000`)
        If `fit` has more rows and no validation data, the gate judges one part of the rows in place of all folds; see
        `fit`.
    penalties : `Sequence[float]`, optional (default = `(1, 3, 10)`)
        As for `Structure`, but tried from the largest on, each starting at the parameters of the one before.
    least : as for `Structure`

    # Raises

    `ConfigurationError` if `most_rows` is below 1.
    """

    family, instances = "label sets", "rows"
    more_candidates = "structure.num_likely"
    exact_match = "subset_accuracy"
    # With few rows a large penalty is best, and it takes a third of the steps.
    penalties_fall = True
    tolerance = 1e-4
    weighs_products = True

    def __init__(
        self,
        num_labels: int,
        energies: Optional[list[Any]] = None,
        most_sets: int = 20000,
        num_likely: int = 0,
        penalties: Sequence[float] = (1.0, 3.0, 10.0),
        constraints: Optional[list[Constraint]] = None,
        names: Optional[list[str]] = None,
        empty_f1: float = 1.0,
        most_rows: int = 20000,
        least: float = 0.1,
    ) -> None:
        if most_rows < 1:
            raise ConfigurationError(f"structure.most_rows: at least 1 row is judged, found {most_rows}.")
        check_whole("structure.num_likely", num_likely, least=0)
        named = ENERGIES if energies is None else energies
        names = [str(number) for number in range(num_labels)] if names is None else names
        declared = declare(constraints, names, sequences=False)
        super().__init__(make_energies(named, num_labels), penalties, declared, least)
        self.num_labels = num_labels
        self.most_sets = most_sets
        self.num_likely = num_likely
        self.empty_f1 = empty_f1
        self.most_rows = most_rows
        self.register_buffer("sets", torch.zeros(0, num_labels))
        self.register_buffer("counts", torch.zeros(0))
        # Made when it is first needed, as it takes long for many known sets.
        self._index: SetIndex | None = None
        # The weights of the `LabelCalibration`.
        self._label_weights: list[float] | None = None

    def _state(self) -> dict:
        return {**super()._state(), "label_weights": self._label_weights}

    def _set_state(self, state: dict) -> None:
        super()._set_state(state)
        self._label_weights = state.get("label_weights")

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        resize_buffers(self, state_dict, prefix)
        self._index = None
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    # Learning.

    def fit(
        self,
        logits: torch.Tensor | ClassifierScores,
        gold: torch.Tensor,
        valid_logits: torch.Tensor | ClassifierScores | None = None,
        valid_gold: torch.Tensor | None = None,
        folds: int = 3,
        groups: torch.Tensor | None = None,
        say: Callable[[str], None] = logger.info,
        valid_groups: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
    ) -> dict:
        """
        Learns the energies, and lets the gate choose an option for each score.

        Time and memory grow with the rows times the candidates. So the energies are learned from at most 6,000 rows, or
        fewer where there are many candidates, down to 1,500. Without validation data the gate judges all rows by
        cross-fitting. Of more than `most_rows` rows it judges a random third, or half of `most_rows` if that is less,
        with energies that were learned from the others. The label sets and their counts come from all rows.

        # Parameters

        logits : `torch.Tensor`, `(rows, labels)`, or `ClassifierScores`
            Held-out log-odds of the training data: of nets that have not seen the row. `ClassifierScores` may add
            probabilities of whole sets, for the energy `powerset`; all methods with `logits` take them.
        gold : `torch.Tensor`, `(rows, labels)`, 0 or 1
        valid_logits, valid_gold : optional
            The final task-net's log-odds of the validation data, and their gold. Without these, the rows are split into
            `folds`, and the gate judges each fold by energies that were learned on the others.
        groups : `torch.LongTensor`, `(rows,)`, optional
            The number of each row's group, such as one of equal rows. No row is judged by energies that were learned on
            a row of its group. The counts of label sets leave out a row's whole group. The gate counts a group as one
            observation. By default each row is a group.
        say : `Callable[[str], None]`, optional (default = the logger's `info`)
            Gets a sentence about each step.
        valid_groups : `torch.LongTensor`, `(valid rows,)`, optional
            `groups` of the validation data.
        weights : `torch.Tensor`, `(rows,)`, optional
            Above 0: how often each row counts in the energies and, without validation data, in thresholds and in the
            gate.

        # Returns

        `dict`
            The report, plain values: what was learned and chosen.

        # Raises

        `ConfigurationError` if there is no row.
        """
        if len(logits) == 0:
            raise ConfigurationError("The structure of label sets is learned from rows, and there is none.")
        scores, gold = ClassifierScores.of(logits), gold.bool()
        if valid_logits is None:
            report, judged = self._cross_fit(scores, gold, folds, groups, say, weights)
        else:
            valid, valid_gold = ClassifierScores.of(valid_logits), require(valid_gold, "valid_gold").bool()
            report = self._learn(scores, gold, valid, valid_gold, groups, say, weights=weights)
            judged = _Judged(
                valid,
                valid_gold,
                self._outputs(valid),
                self._pool.has(valid.logits, valid_gold),
                valid_groups,
                None,
                [self._calibration_data(valid, valid_gold)] if len(valid) else [],
            )
        likeliest = judged.outputs[:, PLACES["likeliest"]].bool()
        right = (likeliest == judged.gold).all(dim=1)
        report["sets"] = len(self.sets)
        report["judged"] = len(judged.gold)
        report.update(gold_among_candidates(judged.gold_competes, right))
        report["decisions"] = self._choose(judged.scores, judged.outputs, judged.gold, judged.groups, judged.weights)
        report["violations"] = {"likeliest": self.broken(likeliest), "gold": self.broken(judged.gold)}
        report.update(self._calibrate(judged.calibration_data))
        self._label_weights = None
        if self.calibration is not None:
            self._label_weights = LabelCalibration.fit(judged.scores.logits, judged.outputs[:, 0], judged.gold).weights
        return report

    def _cross_fit(
        self,
        scores: ClassifierScores,
        gold: torch.Tensor,
        folds: int,
        groups: torch.Tensor | None,
        say: Callable[[str], None],
        weights: torch.Tensor | None,
    ) -> tuple[dict, _Judged]:
        """
        Computes the outputs of each held-out part by energies that are learned on the other rows, and then learns the
        energies of the structure. Returns the report of `learn`, and the held-out rows.
        """
        outputs = torch.zeros(len(gold), 3 + self._offers_powerset(scores), gold.shape[1], dtype=torch.float)
        gold_competes, is_judged = torch.zeros(2, len(gold), dtype=torch.bool)
        report: dict = {}
        first: dict = {}
        chosen, learned = None, True
        calibration_data = []
        parts = cross_fitting_parts(len(gold), folds, groups, self.most_rows)
        for number, (rest, held) in enumerate(parts):
            say(f"Judging {int(held.sum())} rows, part {number + 1} of {len(parts)}.")
            report = self._learn(
                scores[rest],
                gold[rest],
                scores[held],
                gold[held],
                selected(groups, rest),
                None,
                chosen,
                number == 0,
                selected(weights, rest),
                selected(weights, held),
            )
            learned = learned and self._learned
            # The first part chooses the settings for all: trying them takes most of the time, and all parts together
            # choose no better (docs/measurements/energies.md). Each part starts where the last has ended.
            first = first or report
            chosen = chosen or ((report["l2"], not report["left_out"]) if self._learned else None)
            outputs[held] = self._outputs(scores[held])
            calibration_data.append(self._calibration_data(scores[held], gold[held]))
            gold_competes[held] = self._pool.has(scores.logits[held], gold[held])
            is_judged |= held
        if len(gold) <= self.most_rows:
            report = self._learn(scores, gold, scores, gold, groups, say, chosen, False, weights)
            report["penalties"] = first["penalties"]
        else:
            # The energies of the one part were learned from enough rows; the sets and counts are of all rows.
            self._count_sets(gold, weights)
        # A fold whose energies were not learned says nothing about the final structure.
        self._learned = self._learned and learned
        judged = _Judged(
            scores[is_judged],
            gold[is_judged],
            outputs[is_judged],
            gold_competes[is_judged],
            selected(groups, is_judged),
            selected(weights, is_judged),
            calibration_data,
        )
        return report, judged

    @torch.no_grad()
    def _calibration_data(self, scores: ClassifierScores, gold: torch.Tensor) -> CalibrationData:
        """The data of at least one row for the calibration."""
        parts = []
        pool, size = self._pool, self._pool.batch_size
        for part_scores, part_gold in zip(scores.split(size), gold.split(size)):
            candidates = pool.with_gold(part_scores, part_gold)
            score, place = self.joint_scores(candidates), require(candidates.gold, "gold")
            parts.append(CalibrationData.of(score, log_prob_of(candidates), place))
        return CalibrationData.joined(parts)

    def _count_sets(self, gold: torch.Tensor, weights: torch.Tensor | None = None) -> None:
        """Takes the known label sets and their counts from gold."""
        self.sets, self.counts = known_sets(gold, self.most_sets, weights)
        self._index = None

    def _learn(
        self,
        scores,
        gold,
        valid_scores,
        valid_gold,
        groups=None,
        say=logger.info,
        chosen=None,
        restart=True,
        weights=None,
        valid_weights=None,
    ) -> dict:
        self._count_sets(gold, weights)
        # Where the validation rows are the training rows, their counts too must leave out each row's own occurrence.
        same = valid_scores is scores
        excluded = torch.ones(len(gold)) if weights is None else weights.float()
        if groups is not None and len(gold):
            excluded = occurrences_in_group(groups, self.set_index().of(gold), excluded)
        most = min(max(self._pool.batch_size, LEAST_ROWS), MOST_ROWS)
        if len(scores) > most:
            sample = torch.randperm(len(scores), generator=torch.Generator().manual_seed(0))[:most]
            scores, gold, excluded = scores[sample], gold[sample], excluded[sample]
            weights = selected(weights, sample)
        training = self._pool.batches(scores, gold, excluded, weights)
        validation = training if same else self._pool.batches(valid_scores, valid_gold, weights=valid_weights)
        return self.learn(training, training[0], validation, say, chosen, restart)

    def _objective(self, parts: Sequence[Any]) -> Objective:
        if self.num_likely or not is_factored(self.joint):
            return super()._objective(parts)
        return LabelSetObjective(self.joint, parts)

    def _mean_loss(self, parts: Sequence[Any]) -> float:
        objective = self._objective(parts)
        return objective.loss_and_gradient(objective.theta())[0] / objective.count if objective.count else float("inf")

    def set_index(self) -> SetIndex:
        """The index of the known sets."""
        if self._index is None:
            self._index = SetIndex(self.sets)
        return self._index

    @property
    def _pool(self) -> LabelSetPool:
        return LabelSetPool(self.sets, self.counts, self.num_likely, self.set_index)

    def _choose(
        self,
        scores: ClassifierScores,
        q: torch.Tensor,
        gold: torch.Tensor,
        groups: torch.Tensor | None = None,
        weights: torch.Tensor | None = None,
    ) -> dict:
        """Lets the gate choose an option for each score, on rows with the outputs `q` of `_outputs`."""
        self.chosen, report = {}, {}
        logits = scores.logits
        own = logits.sigmoid()

        def repaired(labels: torch.Tensor, blend: float, rows: torch.Tensor) -> torch.Tensor:
            return self._repaired(logits[rows], labels, blend, lambda: q[rows])

        for name in label_set_scores(self.empty_f1):
            repair = repaired if self.has_rules else None
            options, settings = options_for(name, own, q, gold, self.empty_f1, repair, groups, weights, scores.labels)
            verdict = self._verdict(name, options, groups)
            own_settings = {f"own_{key}": settings["own"][key] for key in ("threshold", "never_nothing")}
            self.chosen[name] = {"option": verdict.chosen, **own_settings, **settings[verdict.chosen]}
            report[name] = {**self.chosen[name], **self._reasons(name, verdict)}
        return report

    # Prediction.

    def candidates(self, logits: torch.Tensor | ClassifierScores) -> LabelSetCandidates:
        return self._pool.candidates(ClassifierScores.of(logits))

    @torch.no_grad()
    def _outputs(self, logits: torch.Tensor | ClassifierScores) -> torch.Tensor:
        """
        The marginals, the likeliest set, the set of the best expected F1 and, if powerset is an option, the likeliest
        set of the classifier of whole sets: `(rows, 3 or 4, labels)`.
        """
        scores = ClassifierScores.of(logits)
        outputs = [self._outputs_of(part) for part in scores.split(self._pool.batch_size)] if len(scores) else []
        return torch.cat(outputs) if outputs else scores.logits.new_zeros(0, len(PLACES) + 1, self.num_labels)

    def _outputs_of(self, scores: ClassifierScores) -> torch.Tensor:
        candidates = self._pool.candidates(scores)
        q = self.probabilities(candidates)
        expected = self._expected(candidates, q).nan_to_num(-1.0).argmax(dim=1)
        chosen = [Likeliest().choose(q), expected]
        if self._offers_powerset(scores):
            whole = require(candidates.set_log_prob, "log_prob of ClassifierScores")
            chosen.append(whole.nan_to_num(-torch.inf).argmax(dim=1))
        return torch.cat([candidates.marginals(q).unsqueeze(1), candidates.outputs(torch.stack(chosen, dim=1))], dim=1)

    def _offers_powerset(self, scores: ClassifierScores) -> bool:
        return scores.log_prob is not None and self.declared is None

    def _expected(self, candidates: LabelSetCandidates, q: torch.Tensor) -> torch.Tensor:
        return self.expected_score.within(q, candidates.expected_f1(q, self.empty_f1))

    @torch.no_grad()
    def marginals(self, logits: torch.Tensor | ClassifierScores, calibrated: bool = False) -> torch.Tensor:
        """
        The structured marginals `m_l = sum_y q(y|x) y_l`, 0 to 1, `(rows, labels)`. Decisions use them.

        With `calibrated`, the probability that each label is gold, by the `LabelCalibration` of the rows that the gate
        judged. Where nothing was learned, `sigmoid(z_l)` of the task-net's log-odds.
        """
        scores = ClassifierScores.of(logits)
        if calibrated:
            return self._calibrated_marginals(scores, partial(self._outputs, scores))
        return self._outputs(scores)[:, 0]

    def _calibrated_marginals(self, scores: ClassifierScores, outputs: Callable[[], torch.Tensor]) -> torch.Tensor:
        if self._label_weights is None:
            return scores.logits.sigmoid()
        return LabelCalibration(self._label_weights).probabilities(scores.logits, outputs()[:, 0])

    @torch.no_grad()
    def decide_with_probability(
        self, logits: torch.Tensor | ClassifierScores, score: str = "f1"
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """
        `decide`, the calibrated `marginals`, and `probability_of` the decided sets, at little more than the cost of
        one of them.
        """
        scores = ClassifierScores.of(logits)
        outputs = cache(partial(self._outputs, scores))
        labels = self._decide(scores, score, outputs)
        return labels, self._calibrated_marginals(scores, outputs), self.probability_of(scores, labels)

    @torch.no_grad()
    def probability_of(self, logits: torch.Tensor | ClassifierScores, labels: torch.Tensor) -> torch.Tensor:
        """
        The probability that whole sets, `labels (rows, labels)`, are gold, whether they are candidates or not:
        `(rows,)`, 0 to 1, by `Calibration`; where nothing was learned, under the task-net's independent labels.
        """
        scores, labels = ClassifierScores.of(logits), labels.bool()
        size = self._pool.batch_size
        parts = zip(scores.split(size), labels.split(size))
        probabilities = [self._probability_of(*part) for part in parts] if len(labels) else []
        return torch.cat(probabilities) if probabilities else scores.logits.new_zeros(0)

    def _probability_of(self, scores: ClassifierScores, labels: torch.Tensor) -> torch.Tensor:
        task_net = -F.softplus(torch.where(labels, -scores.logits, scores.logits)).sum(dim=1)
        if self.calibration is None:
            return task_net.exp()
        candidates = self._pool.with_gold(scores, labels)
        place = require(candidates.gold, "gold")
        score, log_prob = self.joint_scores(candidates), log_prob_of(candidates)
        inside = self.calibration.log_probabilities(score, log_prob).gather(1, place.clamp(min=0).unsqueeze(1))
        others = self.calibration.log_probability_of_others(score, log_prob, task_net.unsqueeze(1))
        return torch.where(place >= 0, inside.squeeze(1), others.squeeze(1)).exp().to(task_net)

    @torch.no_grad()
    def decide(self, logits: torch.Tensor | ClassifierScores, score: str = "f1") -> torch.Tensor:
        """The labels by the decision that was chosen for `score`: `(rows, labels)`, boolean."""
        return self.decide_all(logits, [score])[score]

    @torch.no_grad()
    def decide_by(self, logits: torch.Tensor | ClassifierScores, decision: str) -> torch.Tensor:
        """The labels by the decision `likeliest` or `expected_score`, in place of the gate's choice; as `decide`."""
        return self._outputs(logits)[:, PLACES[decision]].bool()

    def _follows(self, chosen: dict) -> bool:
        return chosen["option"] != "own"

    @torch.no_grad()
    def draw(self, logits: torch.Tensor | ClassifierScores, number: int) -> torch.Tensor:
        """Independent draws from `q(y|x)`: `(rows, number, labels)`, 0 or 1."""
        draws = []
        for part in ClassifierScores.of(logits).split(self._pool.batch_size):
            candidates = self._pool.candidates(part)
            draws.append(
                candidates.outputs(torch.multinomial(self.probabilities(candidates), number, replacement=True))
            )
        return torch.cat(draws)

    def task_net_labels(self, logits: torch.Tensor | ClassifierScores, score: str = "f1") -> torch.Tensor:
        """
        The labels without the structure, by the best threshold for `score`: `(rows, labels)`, boolean. Where it has the
        better score, a row without a label above the threshold gets its likeliest one.
        """
        chosen = self.chosen[score]
        return labels_above(
            ClassifierScores.of(logits).logits.sigmoid(),
            chosen["own_threshold"],
            chosen.get("own_never_nothing", False),
        )

    @property
    def needs_labels(self) -> bool:
        """Whether the gate chose the classifier's own predictions, so that `ClassifierScores.labels` are needed."""
        return any(settings["option"] == "predict" for settings in self.chosen.values())

    @torch.no_grad()
    def probabilities_and_threshold(
        self, logits: torch.Tensor | ClassifierScores, score: str = "f1"
    ) -> tuple[torch.Tensor, float] | None:
        """
        The probabilities of labels by which `decide` chooses for `score`, `(rows, labels)`, and their threshold. (A row
        where no label reaches it may get its likeliest one.) `None` if the gate chose whole sets, or the classifier's
        own predictions.
        """
        return self._probabilities_and_threshold(logits, score, partial(self._outputs, logits))

    def _probabilities_and_threshold(
        self, logits: torch.Tensor | ClassifierScores, score: str, outputs: Callable[[], torch.Tensor]
    ) -> tuple[torch.Tensor, float] | None:
        settings = self.chosen[score]
        if "threshold" not in settings:
            return None
        return blended(ClassifierScores.of(logits).logits.sigmoid(), outputs, settings["blend"]), settings["threshold"]

    @torch.no_grad()
    def decide_all(
        self, logits: torch.Tensor | ClassifierScores, scores: Sequence[str] = tuple(LABEL_SET_SCORES)
    ) -> dict:
        """`decide` for several scores at the cost of one."""
        outputs = cache(partial(self._outputs, logits))
        return {score: self._decide(logits, score, outputs) for score in scores}

    def _decide(
        self, logits: torch.Tensor | ClassifierScores, score: str, outputs: Callable[[], torch.Tensor]
    ) -> torch.Tensor:
        decisive, settings = self._probabilities_and_threshold(logits, score, outputs), self.chosen[score]
        if "output" in settings:
            return outputs()[:, settings["output"]].bool()
        if decisive is None:
            labels = require(ClassifierScores.of(logits).labels, "labels of ClassifierScores")
        else:
            labels = labels_above(*decisive, settings.get("never_nothing", False))
        if self.has_rules:
            labels = self._repaired(ClassifierScores.of(logits).logits, labels, settings["blend"], outputs)
        return labels

    @torch.no_grad()
    def _repaired(
        self, logits: torch.Tensor, labels: torch.Tensor, blend: float, outputs: Callable[[], torch.Tensor]
    ) -> torch.Tensor:
        """
        `labels`, `(rows, labels)`, with the rows that break rules replaced by the likeliest candidate that keeps them,
        if it breaks them less: under the task-net if `blend` is 0, else under `q`. `outputs` returns the result of
        `_outputs`.
        """
        breaks = self._breaks(labels)
        rows = breaks.nonzero().squeeze(1)
        if len(rows) == 0:
            return labels
        if blend:
            replacements = outputs()[rows, PLACES["likeliest"]].bool()
        else:
            parts = (
                self._pool.candidates(part) for part in ClassifierScores(logits[rows]).split(self._pool.batch_size)
            )
            sets = [part.outputs(self.task_net_candidate(part).unsqueeze(1)).squeeze(1) for part in parts]
            replacements = torch.cat(sets).bool()
        better = self._breaks(replacements) < breaks[rows]
        return labels.index_put((rows[better],), replacements[better])

    def _breaks(self, labels: torch.Tensor) -> torch.Tensor:
        """The sum of each label set's violations of the rules, `(rows,)`."""
        rules = require(self.declared, "declared")
        return rules(labels.unsqueeze(1), None).sum(dim=(1, 2))
