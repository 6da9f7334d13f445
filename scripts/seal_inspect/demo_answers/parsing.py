import base64
from collections.abc import Iterable

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance

from seal.common.linear_trees import as_brackets, without_unknown_tags
from seal_inspect.demo_alternatives import deciding_column, scores_of, structure_of, why
from seal_inspect.demo_answers.answers import SentenceAnswers, numbers_of


class TreeAnswers(SentenceAnswers):
    """Answers with the tree of each sentence as a picture, and the other trees of the beam."""

    task = "trees"

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        from seal.tasks.parsing.records import printer

        try:
            picture = base64.b64encode(printer(record["tree"]).svg().encode("utf-8")).decode()
        except ValueError as error:
            raise ConfigurationError("the tree has too many constituents inside each other to be drawn.") from error
        _, instance = self.predictor.prepare(request)
        yield {
            "kind": "tree",
            "text": without_unknown_tags(record["tree"]),
            "image": f"data:image/svg+xml;base64,{picture}",
            "numbers": numbers_of(record),
            "alternatives": self._alternatives(instance, record),
            "decides": deciding_column(self.model, self._score),
            "why": why(self.model, self._score),
        }

    @torch.no_grad()
    def _alternatives(self, instance: Instance, record: JsonDict) -> list[JsonDict]:
        tensors, model = self._tensors(instance), self.model
        several = structure_of(model) is not None
        # The beam of the prediction, unless more trees compete than it had.
        beam = model.last_beam if several == model.chooses else model.search(tensors["tokens"], several)
        best = model.best_trees(beam, tensors["metadata"])
        columns = scores_of(model, best.log_prob, best.candidates() if several else None, self._score)
        if model.loss_net is not None:
            columns["energy of the loss-net"] = model.energies(tensors["tokens"], beam)[0]
        trees = [as_brackets(tree, record["words"]) for tree in best.trees[0]]
        rows = [{"text": without_unknown_tags(tree), "chosen": tree == record["tree"]} for tree in trees]
        return self._best(rows, columns)
