import json
from typing import Any, Optional

import torch
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models.archival import Archive

from seal.common.vocabularies import ATTRIBUTES
from seal.structure.k_best_sets import k_best_sets
from seal.structure.label_set_structure import LabelSetStructure
from seal.tasks.base.predictor import finite
from seal.tasks.multilabel import MultilabelModel
from seal.two_player.objectives import TaskState
from seal_inspect.demo_alternatives import (
    ALTERNATIVES,
    PROBABILITY,
    broken,
    deciding_column,
    rows_of,
    scores_of,
    structure_of,
    why,
)
from seal_inspect.demo_answers.answers import Answers, numbers_of

#: The number of labels that are shown.
LABELS = 30
_LINE = "A label is predicted where its bar, the probability by which it is chosen, reaches the line."
_NO_LINE = "Bars are the probabilities of single labels; a whole set was chosen, in which other things count, too."


class LabelAnswers(Answers):
    """Answers with labels, their probabilities and thresholds."""

    samples = ("Cocoa exports fell by a third.",)
    task = "label sets of texts"

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive, probabilities=True)

    def _blocks(self, request: JsonDict, record: JsonDict) -> list[JsonDict]:
        return [self._block(request, record)]

    @torch.no_grad()
    def _block(self, request: JsonDict, record: JsonDict) -> JsonDict:
        model, structure = self.model, structure_of(self.model)
        state = None if model.inference is not None else model.task_state(**self._inputs(request))
        probabilities, note = record["probabilities"], _LINE
        thresholds: list[Optional[float]] = model.threshold.expand(len(probabilities)).tolist()
        if structure is not None and state is not None:
            deciding = structure.probabilities_and_threshold(state.logits, model.score)
            if deciding is None:
                thresholds, note = [None] * len(probabilities), _NO_LINE
            else:
                values, threshold = deciding
                probabilities = dict(zip(model.output_space.labels, map(finite, values[0].tolist())))
                thresholds = [threshold] * len(probabilities)
        labels = [
            {"name": name, "probability": value, "threshold": threshold, "predicted": name in record["labels"]}
            for (name, value), threshold in zip(probabilities.items(), thresholds)
        ]
        labels.sort(key=lambda label: (not label["predicted"], -(label["probability"] or 0)))
        return {
            "kind": "labels",
            "labels": labels[:LABELS],
            "text": note,
            "numbers": numbers_of(record),
            "alternatives": [] if state is None else self._alternatives(state, list(record["labels"])),
            "decides": deciding_column(self.model, self.model.score),
            "why": why(self.model, self.model.score),
        }

    def _inputs(self, request: JsonDict) -> dict[str, Any]:
        """The input of the model for one request."""
        return self._tensors(self.predictor.prepare(request))

    @torch.no_grad()
    def _alternatives(self, state: TaskState, chosen: list[str]) -> list[JsonDict]:
        """The best label sets and the chosen one: by their probability or, without a structure, the task-net's."""
        model, structure = self.model, structure_of(self.model)
        names = model.output_space.labels
        predicted = torch.tensor([[name in chosen for name in names]]).to(state.logits)
        if structure is None:
            sets = k_best_sets(state.logits, ALTERNATIVES)[0].to(state.logits)
            columns = scores_of(model, model.output_space.log_prob(state.logits, sets.unsqueeze(0)), None, model.score)
            places = list(range(len(sets)))
        else:
            sets, columns, places = _candidate_sets(model, structure, state.logits, predicted)
        if not any(bool((one == predicted).all()) for one in sets):
            # The structure gives an energy to candidates only.
            known = {"log-probability": model.output_space.log_prob(state.logits, predicted.unsqueeze(0))[0]}
            if structure is not None:
                known[PROBABILITY] = structure.probability_of(state.logits, predicted)
            none = state.logits.new_tensor([torch.nan])
            for name, values in columns.items():
                columns[name] = torch.cat([values, known.get(name, none)])
            places.append(len(columns["log-probability"]) - 1)
            sets = torch.cat([sets, predicted])
        columns = {name: values[places] for name, values in columns.items()}
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energy(state, sets.unsqueeze(0))[0]
        columns |= broken(model, sets.unsqueeze(0))
        return [
            {
                "text": ", ".join(names[label] for label in one.nonzero().flatten().tolist()) or "no label",
                "chosen": bool((one == predicted).all()),
                "numbers": numbers,
            }
            for one, numbers in zip(sets, rows_of(columns))
        ]

    def _as_input(self, instance: Instance) -> str:
        return " ".join(token.text for token in instance["tokens"])


class FeatureAnswers(LabelAnswers):
    """Answers for a row of features."""

    asks = "features"
    samples = ('{"features": {}}',)
    task = "label sets of features"

    def __init__(self, name: str, archive: Archive) -> None:
        super().__init__(name, archive)
        if archive.config["dataset_reader"].get("standardize"):
            self._data = None  # The reader's features are not those of the file, for which the page asks.

    def _inputs(self, request: JsonDict) -> dict[str, Any]:
        return {"features": self.predictor.features([self.predictor.prepare(request)])}

    def _as_input(self, instance: Instance) -> str:
        instance.index_fields(self.model.vocab)
        names = self.model.vocab.get_index_to_token_vocabulary(ATTRIBUTES)
        values = enumerate(instance["features"].tensor.tolist())
        return json.dumps({"features": {names[place]: round(value, 4) for place, value in values if value}})


def _candidate_sets(
    model: MultilabelModel, structure: LabelSetStructure, logits: torch.Tensor, predicted: torch.Tensor
) -> tuple[torch.Tensor, dict[str, torch.Tensor], list[int]]:
    """
    Returns the best candidate sets, with the predicted set if it is a candidate, `(sets, labels)`; the scores of all
    candidates by column; and the indices of the returned sets.
    """
    candidates = structure.candidates(logits)
    log_prob = torch.cat([part.log_prob for part in candidates.parts()], dim=1)
    columns = scores_of(model, log_prob, candidates, model.score)
    joint = columns[PROBABILITY].nan_to_num(0.0)
    places = [place for place in joint.topk(min(ALTERNATIVES, len(joint))).indices.tolist() if joint[place] > 0]
    known = int(structure.set_index().of(predicted)[0])
    if known >= 0 and known not in places:
        places.append(known)
    return candidates.outputs(torch.tensor([places], device=logits.device))[0], columns, places
