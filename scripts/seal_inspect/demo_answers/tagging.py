from collections.abc import Iterable

import torch
from allennlp.common.util import JsonDict
from allennlp.data import Instance

from seal.common.tag_encodings import tags_to_spans
from seal.tasks.base.records import svg_of
from seal_inspect.demo_alternatives import ALTERNATIVES, broken, deciding_column, scores_of, structure_of, why
from seal_inspect.demo_answers.answers import SentenceAnswers, numbers_of


class TagAnswers(SentenceAnswers):
    """Answers with entities or tags, a block for each sentence."""

    task = "tags"

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        # The words as the model reads them, which may write brackets and quotes in another way.
        _, instance = self.predictor.prepare(request)
        notation, encoding = self.predictor.notation, self.model.output_space.encoding
        if notation is not None and encoding is not None:
            record = {**record, "tags": notation.converted(record["tags"], encoding)}
        yield self._block(record, record["words"], instance, "")

    def labels(self) -> list[str]:
        tags = self.model.output_space.labels
        if self.model.output_space.encoding is None:
            return tags
        return list(dict.fromkeys(tag[2:] for tag in tags if tag != "O"))

    def _block(self, record: JsonDict, words: list[str], instance: Instance, heading: str) -> JsonDict:
        return {
            "kind": "spans",
            "heading": heading,
            "words": words,
            "spans": self._spans(record["tags"]),
            "numbers": numbers_of(record),
            "alternatives": self._alternatives(instance, record["tags"]),
            "decides": deciding_column(self.model, self._score),
            "why": why(self.model, self._score),
        }

    def _spans(self, tags: list[str]) -> list[tuple[str, int, int]]:
        if self.model.output_space.encoding is not None:
            return tags_to_spans(tags)
        return [(tag, place, place) for place, tag in enumerate(tags)]

    @torch.no_grad()
    def _alternatives(self, instance: Instance, chosen: list[str]) -> list[JsonDict]:
        """The task-net's best outputs, with the scores of a structure and its terms, or of a loss-net."""
        model, structure = self.model, structure_of(self.model)
        if model.task_net is None or model.inference is not None:
            return []
        tensors = self._tensors(instance)
        state = model.task_state(**tensors)
        most = ALTERNATIVES if structure is None else structure.num_candidates
        tags, log_prob = model.output_space.k_best(state.logits, most, state.mask)
        candidates = None
        if structure is not None:
            candidates = structure.candidates(model.paths(state, tensors["metadata"]))
        columns = scores_of(model, log_prob, candidates, self._score)
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, tags)[0]
        columns |= broken(model, tags, state.mask)
        # A short sentence has fewer outputs than were asked for; what is left has no probability, and comes last.
        rows = tags[0, : int(log_prob[0].isfinite().sum()), : len(chosen)].tolist()
        named = [[model.output_space.labels[tag] for tag in row] for row in rows]
        return self._best([{"spans": self._spans(row), "chosen": row == chosen} for row in named], columns)


class FrameAnswers(TagAnswers):
    """Answers with roles: a picture of all frames of a sentence, and a block for each frame."""

    task = "roles"
    samples = (
        "My neighbour sold his old car to a student last week.",
        "The committee asked her to explain why the bridge had collapsed.",
        "Who told you that the meeting was moved to Friday?",
        "If it rains tomorrow, we will stay at home and watch a film.",
        "The company that my sister founded in 1998 now employs two hundred people.",
        "Prices rose sharply after the government announced new taxes.",
    )

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        if not record["frames"]:
            yield {"kind": "text", "text": f"{' '.join(record['words'])}: no predicate was found"}
        else:
            yield {"kind": "picture", "svg": svg_of(record, self.colours), "text": " ".join(record["words"])}
        sentence, _ = self.predictor.prepare(request)
        for frame in record["frames"]:
            instance = self.reader.text_to_instance(sentence.words, frame["index"])
            yield self._block(frame, record["words"], instance, frame["predicate"])
