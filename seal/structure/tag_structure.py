"""`TagStructure`, which reranks the k-best list of a tagger."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Optional

import torch

from seal.common.setting_checks import require
from seal.constraints import AtMostOne, Constraint
from seal.structure.candidate_structure import CandidateStructure
from seal.structure.decisions import Rows
from seal.structure.energies.roles import CORE_ROLES
from seal.structure.energies.span_context import FEATURES_OF_ENTITIES
from seal.structure.energies.span_counts import CONTEXTS_OF_ENTITIES, CONTEXTS_OF_WORDS
from seal.structure.lemmas import Lemmas
from seal.structure.scores import Ratio, rate_upper_bound
from seal.structure.structure import Structure, declare, logger, make_energies
from seal.structure.tag_paths import TagPaths
from seal.structure.tag_scores import TagScorer
from seal.structure.tag_sequences import ExcludedGold, TagCandidates, TagScheme, joined

_OF_SPANS = ["role_counts", "role_ngrams", "role_sets"]
#: The default energies, by whether tags encode spans and whether instances have keys. Append new ones at the end:
#: older structures are loaded without them.
DEFAULT_ENERGIES: dict[tuple[bool, bool], list[Any]] = {
    (True, True): [*_OF_SPANS, "key_roles", "token_scores", "span_context", "span_counts"],
    (True, False): [
        *_OF_SPANS,
        "token_scores",
        {"type": "span_context", "features": FEATURES_OF_ENTITIES},
        {"type": "span_counts", "contexts": CONTEXTS_OF_ENTITIES},
    ],
    **dict.fromkeys(
        [(False, True), (False, False)],
        ["role_ngrams", "role_trigrams", {"type": "span_counts", "contexts": CONTEXTS_OF_WORDS}],
    ),
}


#: A rule is declared from at least so many frames, and if the lower confidence bound of the share of frames that keep
#: it is at most `DECLARED_BELOW` less than `declare_from`.
LEAST_FRAMES, DECLARED_BELOW = 100, 0.015


@Structure.register("tags")
class TagStructure(CandidateStructure):
    """
    Reranks the k-best list of tag sequences of a chain: frames of roles, entities, parts of speech.

    For each score the gate chooses on validation data between the task-net's `own` output, the `likeliest` candidate
    under the joint score, and the candidate of the best `expected_score`. The scores are `exact_match` and

    - `f1` of spans; for frames, of arguments (`seal.common.tag_encodings.arguments_of` joins the pieces of an
      argument), as in `SrlScore`;
    - `accuracy` of tokens, in place of `f1`, where tags encode no spans.

    # Parameters

    tags : `list[str]`
        The names of the tags by index. The model gives `tags`, `encoding` and `keyed`.
    encoding : `str`, optional
        `"BIO"`, `"BIOES"`, or `None` where tags encode no spans.
    keyed : `bool`
        Whether each instance has a key, such as the predicate of a frame.
    energies : `list[Union[str, dict]]`, optional
        The terms of the energy by their registered names, alone or with settings. The default is `DEFAULT_ENERGIES`:
        `role_counts`, `role_ngrams`, `role_sets`, `key_roles` (if there are keys), `token_scores`, `span_context` and
        `span_counts`, the last two with other settings for entities; without an encoding `role_ngrams`,
        `role_trigrams` and `span_counts` of single words.
    num_candidates : `int`, optional (default = `20`)
        The length of the k-best list.
    constraints : `list[Constraint]`, optional
        Rules that the chosen sequence keeps if any candidate does: see `seal.constraints`.
    penalties, least : as for `Structure`
    declare_from : `float`, optional (default = `0.995`)
        For frames: the rule that a core role (`ARG0` and so on) occurs at most once is declared if at least this share
        of the different training frames with the role keep it. There must be at least 100 such frames, and the lower
        confidence bound of the share (95 %, Clopper & Pearson 1934) must be at most 0.015 below `declare_from`. The
        rule makes predictions wrong where gold breaks it. Above 1 no rule is declared.
    """

    kind = "tags"

    def __init__(
        self,
        tags: list[str],
        encoding: Optional[str],
        keyed: bool,
        energies: Optional[list[Any]] = None,
        num_candidates: int = 20,
        penalties: Sequence[float] = (1.0, 3.0, 10.0, 30.0, 100.0),
        constraints: Optional[list[Constraint]] = None,
        least: float = 0.1,
        declare_from: float = 0.995,
    ) -> None:
        self.scheme = TagScheme(tags, encoding)
        self._by_default = energies is None
        if energies is None:
            energies = DEFAULT_ENERGIES[encoding is not None, keyed]
        declared = declare(constraints, tags, sequences=True, encoding=encoding)
        terms = make_energies(energies, len(self.scheme.roles))
        super().__init__(terms, num_candidates, penalties, declared, least)
        self.encoding = encoding
        self.family = "words" if encoding is None else "spans"
        self.instances = "frames" if keyed else "sentences"
        self._tags, self._has_keys, self.declare_from = tags, keyed, declare_from
        self._at_most_once: list[str] = []
        self.scores = ("accuracy" if encoding is None else "f1", self.exact_match)
        #: Gives the lemma of each key, which is a predicate's word.
        self.lemmas = Lemmas()

    @cached_property
    def scorer(self) -> TagScorer:
        return TagScorer(self.scheme, self._has_keys)

    @property
    def reads_token_scores(self) -> bool:
        """Whether an energy reads `TagPaths.token_log_prob`."""
        return any(energy.reads_token_scores for energy in self.joint.energies)

    def best_paths(
        self, space: Any, logits: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """
        The `num_candidates` best tag sequences under the logits of a `TagSequence`.

        # Parameters

        space : `TagSequence`
        logits : `torch.Tensor`, `(batch, tokens, tags)`
        mask : `torch.BoolTensor`, `(batch, tokens)`

        # Returns

        `tags`, `log_prob` and `token_log_prob` of `TagPaths`; the last is `None` unless an energy reads it.
        """
        if self.reads_token_scores:
            return space.k_best_and_marginals(logits, self.num_candidates, mask)
        return (*space.k_best(logits, self.num_candidates, mask), None)

    def candidates(self, paths: TagPaths, excluded: Optional[ExcludedGold] = None) -> TagCandidates:
        return self.with_lemmas(paths).candidates(self.scheme, excluded)

    def with_lemmas(self, paths: TagPaths) -> TagPaths:
        """The paths with lemmas as keys, in place of words."""
        return replace(paths, keys=self.lemmas.of(paths.keys))

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:
        # Older structures have fewer default energies: the last ones are dropped.
        start = prefix + "joint.energies."
        saved = {int(name[len(start) :].split(".")[0]) for name in state_dict if name.startswith(start)}
        if self._by_default and saved:
            self.joint.energies = self.joint.energies[: max(saved) + 1]
        super()._load_from_state_dict(state_dict, prefix, *args)

    # Learning.

    def gold_candidates(self, parts: Sequence[TagPaths]) -> TagCandidates:
        """One batch of all instances, with gold as the only candidate of each."""
        return joined([self.with_lemmas(part).gold_candidates(self.scheme) for part in parts])

    def _read(self, training: Sequence[TagPaths], groups: torch.Tensor) -> tuple[TagCandidates, dict]:
        words = [key for part in training for key in part.keys]
        self.lemmas.learn(words, [lemma for part in training for lemma in part.lemmas] or [None] * len(words))
        gold = self.gold_candidates(training)
        shares = self._learn_rules(gold, groups)
        return gold, {"declared": {"at most once": shares}} if shares else {}

    def training_candidates(
        self, training: Sequence[TagPaths], gold: TagCandidates, groups: torch.Tensor
    ) -> list[TagCandidates]:
        parts = []
        for part, group in zip(training, groups.split([len(part.tags) for part in training])):
            rows = torch.isin(groups, group).nonzero().squeeze(1)
            parts.append(self.candidates(part, ExcludedGold(group, gold.of_rows(rows), groups[rows])))
        return parts

    def learn_again(self, training: Sequence[TagPaths], validation: Sequence[TagPaths], l2: float) -> None:
        """Learns the energies again after `fit`, on other data with this L2 penalty. The gate's choices stay."""
        gold = self.gold_candidates(training)
        held_out = [self.candidates(part) for part in validation]
        parts = self.training_candidates(training, gold, self.groups_of(training))
        self.learn(parts, gold, held_out, say=None, chosen=(l2, True))

    def _ratios(
        self, parts: Sequence[TagPaths], candidates: Sequence[TagCandidates], chosen: dict[str, list[torch.Tensor]]
    ) -> dict[str, dict[str, Ratio]]:
        golds = [require(part.gold, "gold").long() for part in parts]
        masks = [part.mask for part in parts]
        predictions = {option: list(map(_chosen_tags, candidates, index)) for option, index in chosen.items()}
        return {
            name: {
                option: Ratio.joined([score(*arguments) for arguments in zip(outputs, golds, masks)])
                for option, outputs in predictions.items()
            }
            for name, score in zip(self.scores, (self.scorer.f1, self.scorer.exact_match))
        }

    def _further(
        self, validation: Sequence[TagPaths], candidates: Sequence[TagCandidates], chosen: dict[str, list[torch.Tensor]]
    ) -> dict:
        violations = {}
        for name, outputs in (
            ("own", [part.tags[:, 0] for part in candidates]),
            ("chosen", list(map(_chosen_tags, candidates, chosen[self.chosen[self.main_score]]))),
            ("gold", [require(part.gold, "gold").long() for part in validation]),
        ):
            counts: Counter = Counter()
            for tags, part in zip(outputs, validation):
                counts.update(self.broken(tags, part.mask))
            violations[name] = dict(counts)
        return {"violations": violations}

    def _learn_rules(self, gold: TagCandidates, groups: torch.Tensor) -> dict[str, float]:
        """
        Sets the rule that a core role occurs at most once, for the roles that occur at most once in nearly all training
        frames (`declare_from`). Returns the share of these frames by role.
        """
        # Repeated frames count once.
        number = torch.cat([groups.unsqueeze(1), gold.tags[:, 0]], dim=1).unique(dim=0, return_inverse=True)[1]
        different = torch.zeros_like(number).scatter(0, number, torch.arange(len(number))).unique()
        counts, shares = gold.role_counts[different, 0], {}
        for role, name in enumerate(self.scheme.roles):
            frames = int((counts[:, role] > 0).sum())
            twice = int((counts[:, role] > 1).sum())
            if not self._has_keys or name not in CORE_ROLES or frames < LEAST_FRAMES:
                continue
            is_sure = 1 - rate_upper_bound(twice, frames) >= self.declare_from - DECLARED_BELOW
            if 1 - twice / frames >= self.declare_from and is_sure:
                shares[name] = 1 - twice / frames
        self._set_at_most_once(list(shares))
        if shares:
            logger.info("Declared, as training data keep it: at most one each of %s.", ", ".join(shares))
        return shares

    def _set_at_most_once(self, roles: list[str]) -> None:
        """Sets `learned_rules`: each of the roles occurs at most once."""
        rules: list[Constraint] = [AtMostOne(roles, each=True)] if roles else []
        learned = declare(rules, self._tags, sequences=True, encoding=self.encoding)
        self.learned_rules = None if learned is None else learned.to(self.joint.scale.device)
        self._at_most_once = roles

    def _state(self) -> dict:
        return {**super()._state(), "at_most_once": self._at_most_once}

    def _set_state(self, state: dict) -> None:
        super()._set_state(state)
        self._set_at_most_once(state.get("at_most_once", []))

    # Prediction.

    def similarity(self, candidates: TagCandidates, indices: torch.Tensor, rows: Rows = slice(None)) -> torch.Tensor:
        mask = candidates.mask[rows]
        if self.encoding is None:
            tags = candidates.tags[rows].gather(1, indices.unsqueeze(2).expand(-1, -1, mask.shape[1]))
            equal = (tags.unsqueeze(2) == tags.unsqueeze(1)) & mask[:, None, None]
            return equal.sum(dim=-1) / mask.sum(dim=1).clamp(min=1)[:, None, None]
        shared, sizes = self.scorer.overlaps(candidates.spans.of_rows(rows), mask.shape[1])
        instances = torch.arange(len(indices), device=indices.device)[:, None, None]
        shared = shared[instances, indices.unsqueeze(2), indices.unsqueeze(1)]
        sizes = sizes.gather(1, indices)
        total = sizes.unsqueeze(2) + sizes.unsqueeze(1)
        return torch.where(total == 0, 1.0, 2 * shared / total.clamp(min=1))

    @torch.no_grad()
    def decide(self, paths: TagPaths, score: Optional[str] = None) -> tuple[torch.Tensor, torch.Tensor]:
        """
        Predicts tags by the decision that the gate chose for `score`, by default the main score.

        # Returns

        `tags`, `(batch, tokens)`, 0 at padding; and `log_prob`, `(batch,)`, under the task-net, in nats.
        """
        return self.decide_with_probability(paths, score, False)[:2]

    @torch.no_grad()
    def decide_with_probability(
        self, paths: TagPaths, score: Optional[str] = None, with_probability: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """`decide`, and the calibrated probability that these tags are gold, `(batch,)`; `None` without calibration."""
        index, probability = self.choose(paths, score, with_probability)
        rows = torch.arange(len(index), device=index.device)
        tags = paths.tags[rows, index].long()
        if self.uses_candidates(score):
            tags = tags * paths.mask
        return tags, paths.log_prob[rows, index], probability

    @torch.no_grad()
    def draw(self, paths: TagPaths, number: int) -> torch.Tensor:
        """Independent draws from `q(y|x)`: `(batch, number, tokens)`, 0 at padding."""
        q = self.probabilities(self.candidates(paths))
        chosen = torch.multinomial(q, number, replacement=True)
        tags = paths.tags.long() * paths.mask.unsqueeze(1)
        return tags.gather(1, chosen.unsqueeze(2).expand(-1, -1, tags.shape[2]))


def _chosen_tags(candidates: TagCandidates, index: torch.Tensor) -> torch.Tensor:
    """The tags of the candidates with these indices, `(batch,)`: `(batch, tokens)`."""
    return candidates.tags[torch.arange(len(index), device=index.device), index]
