"""`StructuredTagger`: a reranker of any tagger's k-best list, with `fit`, `predict`, `explain`, `save` and `load`."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral
from typing import Any

import numpy
import torch
from torch.nn.utils.rnn import pad_sequence

from seal.common.length_groups import Size, length_groups
from seal.common.setting_checks import check_choice
from seal.common.tag_encodings import tags_to_spans
from seal.constraints import Constraint
from seal.files.atomic_files import atomic_write
from seal.files.weights import read_tensors, write_tensors
from seal.output_spaces import CrfTagSequence
from seal.registry import ConfigurationError
from seal.structure import CandidateEnergy, TagPaths, TagStructure
from seal.structure.tag_sequences import find_gold
from seal.tagger.best_paths import TRANSITIONS, best_paths, tag_space
from seal.tagger.data import (
    Row,
    check_logarithms,
    group_numbers,
    inner_labels,
    random_share,
    read_labels,
    read_rows,
)
from seal.tagger.explanations import Candidate, Explanation
from seal.tagger.rules import constraint_of, settings_of

#: The files of a saved tagger.
SETTINGS, NUMBERS = "tagger.json", "tagger.safetensors"
# The most sentences in memory, which are sorted by length; and the most sentences of a batch.
_AHEAD, _BATCH = 1024, 128


class StructuredTagger:
    """
    Reranks the k-best tag sequences of any tagger that scores each tag of each token (its *emissions*).

    An energy with few parameters scores whole sequences. It is learned from held-out emissions, of a tagger that has
    not seen the sentences (`cross_fit` computes them). Held-out validation data, and the gains on earlier data sets,
    decide for each score whether to follow it. If no gain is expected, the predictions are the tagger's own best legal
    sequences that keep the rules.

    # Parameters

    labels : `Sequence[str]` or `Mapping[int, str]`
        The tags in the order of the emissions' columns, or a table such as `model.config.id2label`.
    encoding : `str`, optional (default = `"BIO"`)
        `"BIO"`, `"BIOES"`, `"IO"` (spans of tokens with equal tags; `I-` before their names may be left out) or `None`
        (tags that encode no spans, such as parts of speech). With `"BIO"` and `"BIOES"` all candidates are legal.
    transitions : optional
        The transition scores of a tagger with a CRF: `(tags, tags)`, indexed `[from, to]`; a dictionary of
        `transitions`, `start_transitions` and `end_transitions`; or a module with these attributes, such as those of
        pytorch-crf and AllenNLP. Emissions are then the CRF's inputs, and `log P(y|x)` is the CRF's. `None`: emissions
        are log-odds or log-probabilities, and `log P(y|x)` is a sum over tokens.
    energies : `Sequence[str | dict]`, optional
        As for `TagStructure`.
    constraints : `Sequence[Constraint | dict]`, optional
        Rules of `seal.constraints` that predictions keep if any candidate does, as objects or as in a config.
    score : `str`, optional (default = `"f1"`)
        The score that `predict` optimises: `"f1"` (micro F1 of spans; without an encoding the `"accuracy"` of tokens),
        or `"exact_match"`.
    num_candidates : `int`, optional (default = `20`)
        The length of the k-best list, at least 2.

    # Attributes

    structure_ : `TagStructure`
    report_ : `dict`, what `fit` learned and chose, and why.

    # Raises

    `ConfigurationError`, in one sentence, if a setting or an argument of a method cannot work.
    """

    def __init__(
        self,
        labels: Sequence[str] | Mapping[int, str],
        encoding: str | None = "BIO",
        transitions: Any = None,
        energies: Sequence[str | dict] | None = None,
        constraints: Sequence[Constraint | dict] | None = None,
        score: str = "f1",
        num_candidates: int = 20,
    ) -> None:
        self.labels = read_labels(labels, encoding)
        self._scores = ("f1", "accuracy", "exact_match") if encoding is None else ("f1", "exact_match")
        check_choice("score", score, self._scores)
        self.encoding, self.score, self.num_candidates = encoding, score, num_candidates
        self.energies = None if energies is None else list(energies)
        self.constraints = [constraint_of(each, place) for place, each in enumerate(constraints or ())]
        self._space = tag_space(self.labels, encoding, transitions)
        self.structure_ = self._structure(keyed=False)
        #: The optional arguments of `fit`, of `keys`, `words` and `predicates`, that prediction needs as well.
        self.needs: list[str] = []
        self.report_: dict[str, Any] = {}

    def _structure(self, keyed: bool) -> TagStructure:
        return TagStructure(
            inner_labels(self.labels, self.encoding),
            self.encoding,
            keyed,
            self.energies,
            self.num_candidates,
            constraints=self.constraints or None,
        )

    # Learning.

    def fit(
        self,
        emissions: Iterable[Any],
        gold: Iterable[Any],
        mask_or_lengths: Iterable[Any] | None = None,
        keys: Iterable[str] | None = None,
        valid: float | Mapping[str, Any] = 0.25,
        word_ids: Iterable[Any] | None = None,
        groups: Sequence[Any] | None = None,
        words: Iterable[Sequence[str]] | None = None,
        predicates: Iterable[int] | None = None,
    ) -> "StructuredTagger":
        """
        Learns the energy, and lets the gate decide on validation data whether to follow it.

        # Parameters

        emissions : `Iterable`
            The scores of each sentence's tags, `(tokens, tags)`, as a NumPy array, a tensor on any device or lists; or
            those of all sentences, padded, `(sentences, tokens, tags)`. They must be *held out*, from taggers that were
            not trained on the sentence: scores of training data are overconfident.
        gold : `Iterable`
            The names or indices of each sentence's tags: one for each token that counts, or one for each token of the
            emissions (at tokens that do not count, any value, such as -100).
        mask_or_lengths : `Iterable`, optional
            The tokens of each sentence that count: the number of the first ones, or a mask, which may leave out
            padding, `[CLS]` and so on.
        keys : `Iterable[str]`, optional
            The predicate of each frame: the energy then learns which roles a predicate has. Prediction needs keys as
            well. The label `V` then stands for the predicate, and is not scored.
        valid : `float` or `Mapping`, optional (default = `0.25`)
            Validation data: a share of the sentences, after which the energy is learned again from all; or other
            sentences with emissions of the final tagger, as a dictionary with the names of these arguments.
        word_ids : `Iterable`, optional
            For emissions of sub-tokens: the word number of each token of each sentence, or `None`, as tokenizers of
            Hugging Face give it. The first token of a word counts.
        groups : `Sequence`, optional
            The group of each sentence, such as the sentence of a frame. A group is either in training or in validation
            data, and is one observation of a gain; the energy's counts of training data leave out an instance's group.
            By default sentences of equal words, whatever their case, are one group; without words, sentences of equal
            emissions.
        words : `Iterable[Sequence[str]]`, optional
            The words of each sentence's tokens that count, for energies that read words. Prediction needs words as
            well.
        predicates : `Iterable[int]`, optional
            The index of each frame's predicate among these words. Prediction needs it as well.
        """
        rows = list(self._read(emissions, gold, mask_or_lengths, keys, word_ids, words, predicates))
        self._check_logarithms(rows)
        numbers = group_numbers(rows, groups)
        given = {"keys": keys, "words": words, "predicates": predicates}
        needs = [name for name, values in given.items() if values is not None]
        if isinstance(valid, Mapping):
            training, validation = rows, list(self._read_valid(valid, needs))
            part_numbers = numbers, None
        else:
            is_valid = random_share(numbers, valid)
            training, validation = (
                [rows[place] for place in numpy.flatnonzero(part)] for part in (~is_valid, is_valid)
            )
            part_numbers = numbers[~is_valid], numbers[is_valid]
        if not training or not validation:
            raise ConfigurationError(
                f"fit: sentences to learn from and others to choose by are needed, found {len(training)} and "
                f"{len(validation)}."
            )
        structure = self._structure("keys" in needs)
        training_paths, validation_paths = (
            [paths for _, paths in self._paths(part, structure, groups=part_groups)]
            for part, part_groups in zip((training, validation), part_numbers)
        )
        report = structure.fit(training_paths, validation_paths)
        if not isinstance(valid, Mapping) and report["l2"] is not None:
            structure.learn_again(training_paths + validation_paths, validation_paths, report["l2"])
        sizes = {"learned_from": len(rows), "chosen_by": len(validation)}
        self.structure_, self.needs, self.report_ = structure, needs, {**sizes, **report}
        return self

    def _read_valid(self, valid: Mapping[str, Any], needs: list[str]) -> Iterator[Row]:
        known = ("emissions", "gold", "mask_or_lengths", "keys", "word_ids", "words", "predicates")
        for name in valid:
            if name not in known:
                raise ConfigurationError(f"valid: {name!r} is none of {', '.join(known)}.")
        for name in ("emissions", "gold", *needs):
            if valid.get(name) is None:
                raise ConfigurationError(f"valid: {name!r} is missing.")
        return self._read(*(valid.get(name) for name in known))

    def _read(self, emissions, gold, *others) -> Iterator[Row]:
        if gold is None:
            raise ConfigurationError("gold: the tags of each sentence are needed, and are not given.")
        # Sentences without a token that counts are left out.
        return (row for row in read_rows(self.labels, emissions, gold, *others) if len(row.emissions))

    # Prediction.

    def predict(
        self,
        emissions: Iterable[Any],
        mask_or_lengths: Iterable[Any] | None = None,
        keys: Iterable[str] | None = None,
        word_ids: Iterable[Any] | None = None,
        score: str | None = None,
        own: bool = False,
        words: Iterable[Sequence[str]] | None = None,
        predicates: Iterable[int] | None = None,
    ) -> list[list[str]]:
        """
        The names of the tags of each sentence's tokens that count. `score` overrides the constructor's argument; with
        `own`, the result is the tagger's best sequence without the energy. Other arguments are as for `fit`. At most
        1,024 sentences of a generator are in memory at a time.
        """
        found: list[list[str]] = []
        wanted = self._score(score)
        given = {"keys": keys, "words": words, "predicates": predicates}
        for place, paths in self._batches(emissions, mask_or_lengths, word_ids, given, found):
            tags = paths.tags[:, 0] if own else self.structure_.decide(paths, wanted)[0]
            for there, sentence, length in zip(place, tags.tolist(), paths.mask.sum(dim=1).tolist()):
                found[there] = [self.labels[tag] for tag in sentence[:length]]
        return found

    def predict_k(
        self,
        emissions: Iterable[Any],
        k: int | None = None,
        mask_or_lengths: Iterable[Any] | None = None,
        keys: Iterable[str] | None = None,
        word_ids: Iterable[Any] | None = None,
        score: str | None = None,
        words: Iterable[Sequence[str]] | None = None,
        predicates: Iterable[int] | None = None,
    ) -> list[list[Candidate]]:
        """
        The `k` likeliest candidates of each sentence by tagger and energy together, by default all, the likeliest
        first; no candidates for a sentence without a token that counts. Arguments as for `predict`.
        """
        if k is not None and (not isinstance(k, Integral) or k < 1):
            raise ConfigurationError(f"k: a whole number of at least 1 is needed, found {k}.")
        found: list[list[Candidate]] = []
        wanted = self._score(score)
        given = {"keys": keys, "words": words, "predicates": predicates}
        for place, paths in self._batches(emissions, mask_or_lengths, word_ids, given, found):
            for there, candidates in zip(place, self._candidates(paths, wanted)):
                found[there] = sorted(candidates, key=lambda one: -one.joint)[:k]
        return found

    def explain(
        self,
        i: int,
        emissions: Iterable[Any],
        mask_or_lengths: Iterable[Any] | None = None,
        keys: Iterable[str] | None = None,
        word_ids: Iterable[Any] | None = None,
        words: Iterable[Sequence[str]] | None = None,
        predicates: Iterable[int] | None = None,
        score: str | None = None,
    ) -> Explanation:
        """
        The candidates of the `i`th sentence, from 0, with their scores. Arguments as for `predict`. Without `words` the
        explanation has the tokens' numbers.
        """
        given = (emissions, mask_or_lengths, keys, word_ids, words, predicates)
        parts = [None if each is None else list(islice(each, i, i + 1)) for each in given] if i >= 0 else [None]
        if not parts[0]:
            raise ConfigurationError(f"explain: there is no sentence {i}.")
        _, lengths, key, ids, in_words, predicate = parts
        candidates = self.predict_k(parts[0], None, lengths, key, ids, score, in_words, predicate)[0]
        if not candidates:
            raise ConfigurationError(f"explain: sentence {i} has no token.")
        return Explanation(list(map(str, in_words[0] if in_words else range(len(candidates[0].tags)))), candidates)

    def _score(self, score: str | None) -> str:
        wanted = self.score if score is None else score
        if not self.structure_.is_fitted:
            raise ConfigurationError("This StructuredTagger is not fitted; call fit first.")
        check_choice("score", wanted, self._scores)
        return self.structure_.main_score if wanted in ("f1", "accuracy") else wanted

    def _batches(
        self, emissions, mask_or_lengths, word_ids, given: dict[str, Any], found: list
    ) -> Iterator[tuple[list[int], TagPaths]]:
        """
        Batches of sentences of similar length: the indices of the sentences, and their k-best lists. Appends an empty
        list for each sentence to `found`.
        """
        for name in self.needs:
            if given.get(name) is None:
                raise ConfigurationError(f"{name}: this tagger has learned with {name}; give those of each sentence.")
        # Arguments that `fit` did not get are checked, and ignored.
        rows = read_rows(self.labels, emissions, None, mask_or_lengths, word_ids=word_ids, **given)
        while some := list(islice(rows, _AHEAD)):
            found.extend([] for _ in some)
            self._check_logarithms(some)
            for batch, paths in self._paths([row for row in some if len(row.emissions)], self.structure_, self.needs):
                yield [row.place for row in batch], paths

    def _paths(
        self,
        rows: Sequence[Row],
        structure: TagStructure,
        needs: Sequence[str] = ("keys", "words", "predicates"),
        groups: numpy.ndarray | None = None,
    ) -> Iterator[tuple[list[Row], TagPaths]]:
        """Batches of sentences and their k-best lists, on the CPU."""
        sizes = [Size(len(row.emissions), 0) for row in rows]
        for places in length_groups(sizes, _BATCH):
            batch = [rows[place] for place in places]
            emissions = pad_sequence([row.emissions for row in batch], batch_first=True)
            lengths = torch.tensor([len(row.emissions) for row in batch])
            mask = torch.arange(emissions.shape[1]) < lengths.unsqueeze(1)
            tags, log_prob, token_log_prob = best_paths(self._space, structure, emissions, mask.to(emissions.device))
            golds = [row.gold for row in batch if row.gold is not None]
            yield (
                batch,
                TagPaths(
                    tags.to("cpu", torch.int16),
                    log_prob.float().cpu(),
                    mask,
                    pad_sequence(golds, batch_first=True).to(torch.int16) if golds else None,
                    [row.key for row in batch] if "keys" in needs else [],
                    None if token_log_prob is None else token_log_prob.to("cpu", torch.half),
                    [row.words for row in batch if row.words is not None] if "words" in needs else [],
                    [row.predicate for row in batch if row.predicate is not None] if "predicates" in needs else [],
                    groups=[] if groups is None else groups[places].tolist(),
                ),
            )

    def _check_logarithms(self, rows: Sequence[Row]) -> None:
        if not isinstance(self._space, CrfTagSequence):
            check_logarithms(rows)

    @torch.no_grad()
    def _candidates(self, paths: TagPaths, score: str) -> Iterator[list[Candidate]]:
        structure = self.structure_
        candidates = structure.candidates(paths)
        names = energy_names(structure)
        terms = torch.stack(structure.terms(candidates), dim=-1).tolist() if names else None
        joint = structure.calibrated(candidates).tolist()
        chosen = find_gold(candidates.tags * paths.mask.unsqueeze(1), structure.decide(paths, score)[0], paths.mask)
        log_prob, inner = paths.log_prob.tolist(), inner_labels(self.labels, self.encoding)
        for row, (sequences, length) in enumerate(zip(paths.tags.tolist(), paths.mask.sum(dim=1).tolist())):
            listed: list[Candidate] = []
            for place, tags in enumerate(sequences):
                if log_prob[row][place] == -math.inf:
                    continue
                tag_names = [inner[tag] for tag in tags[:length]]
                spans = tags_to_spans(tag_names) if self.encoding else [(tag, t, t) for t, tag in enumerate(tag_names)]
                energies = dict(zip(names, terms[row][place])) if terms else {}
                labels = [self.labels[tag] for tag in tags[:length]]
                numbers = (log_prob[row][place], energies, joint[row][place], place == int(chosen[row]))
                listed.append(Candidate(labels, spans, *numbers))
            yield listed

    # Files.

    def save(self, folder: str | os.PathLike) -> None:
        """Writes the settings to `tagger.json` and all tensors to `tagger.safetensors`, both in the folder."""
        if not self.structure_.is_fitted:
            raise ConfigurationError("save: this StructuredTagger is not fitted; call fit first.")
        os.makedirs(folder, exist_ok=True)
        settings = {
            "format": 1,
            "labels": self.labels,
            "encoding": self.encoding,
            "energies": self.energies,
            "constraints": [settings_of(constraint) for constraint in self.constraints],
            "score": self.score,
            "num_candidates": self.num_candidates,
            "needs": self.needs,
            "report": self.report_,
        }
        tensors = {f"structure.{name}": tensor for name, tensor in self.structure_.state_dict().items()}
        if isinstance(self._space, CrfTagSequence):
            tensors |= {name: getattr(self._space.crf, name) for name in TRANSITIONS}
        write_tensors(os.path.join(folder, NUMBERS), tensors)
        with atomic_write(os.path.join(folder, SETTINGS)) as draft, open(draft, "w", encoding="utf-8") as file:
            json.dump(settings, file, indent=1)
            file.write("\n")

    @classmethod
    def load(cls, folder: str | os.PathLike) -> "StructuredTagger":
        """Loads a tagger that `save` wrote; its numbers are the same, bit for bit. No code is run from the files."""
        path = os.path.join(folder, SETTINGS)
        try:
            with open(path, encoding="utf-8") as file:
                settings = json.load(file)
            taken = ("labels", "encoding", "energies", "constraints", "score", "num_candidates")
            given = {name: settings[name] for name in taken}
            needs, report = settings["needs"], settings["report"]
        except OSError as error:
            raise ConfigurationError(f"'{path}' cannot be read ({error.strerror}).") from error
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"'{path}' is none that StructuredTagger.save writes ({error!r}).") from error
        tensors, _ = read_tensors(os.path.join(folder, NUMBERS))
        pairs = {name: tensors.pop(name) for name in TRANSITIONS if name in tensors}
        tagger = cls(**given, transitions=pairs or None)
        tagger.structure_ = tagger._structure("keys" in needs)
        tagger.needs, tagger.report_ = needs, report
        try:
            tagger.structure_.load_state_dict({name.partition(".")[2]: tensor for name, tensor in tensors.items()})
        except RuntimeError as error:
            raise ConfigurationError(f"'{folder}': {NUMBERS} does not belong to {SETTINGS} ({error}).") from error
        return tagger


def energy_names(structure: TagStructure) -> list[str]:
    """The registered names of a structure's energies, in their order."""
    names: dict[Any, str] = {CandidateEnergy.by_name(name): name for name in CandidateEnergy.list_available()}
    return [names[type(energy)] for energy in structure.joint.energies]
