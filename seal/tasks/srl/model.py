import dataclasses
from collections.abc import Iterable
from typing import Any, Optional

import torch
from allennlp.common import Lazy
from allennlp.data import Field, Instance, TextFieldTensors, Vocabulary
from allennlp.data.fields import SequenceLabelField
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask
from allennlp.training.metrics import FBetaMeasure
from torch.nn import functional as F

from seal.common.precision import at_least_float, in_full_precision
from seal.common.setting_checks import check_range, require, with_parameters_of
from seal.nets import TaskNet
from seal.output_spaces import OutputSpace
from seal.structure.tag_paths import TagPaths
from seal.tasks.base.fields import replace_fields
from seal.tasks.base.scored_rows import check_scored, masked_mean, rows_with_known_gold
from seal.tasks.base.seal_model import SealModel
from seal.tasks.srl.crossing_spans import CrossingSpans
from seal.tasks.srl.srl_score import SrlScore
from seal.tasks.tagging.model import TagModel
from seal.two_player.objectives import TaskState


@Model.register("seal_srl")
class SrlModel(TagModel):
    """
    Semantic role labelling: each row of a batch is a sentence with one of its predicates, whose roles are BIO tags
    (`seal_srl` reader). A row without a predicate trains or runs the predicate finder, a linear head on the task-net's
    vectors that says of each word whether it is a predicate. The loss-net never sees those rows.

    # Parameters

    As for `SealModel`, except that it needs a task-net, and

    by_role : `bool`, optional (default = `False`)
        Report span F1 of each role.
    predicates_from : `str`, optional (default = `None`)
        The `seal_tagging` model whose verbs are predicates of raw text, too, unless the predictor's `predicates_from`
        says otherwise: a name, an archive, the folder of a run, or `hf://USER/MODEL`. Training does not read it.
    crossing_weight : `float`, optional (default = `0.0`)
        What the task-net pays, in nats and at least 0, for each pair of spans of two predicates of a sentence that it
        expects to cross (`CrossingSpans`). It is about the predicates of one batch: set `by_sentence` of the batch
        sampler `frames`, too.
    """

    default_predictor = "seal_srl"
    gold_fields = ("tags", "is_predicate")

    keyed = True
    own_scores = ("f1", "ucr", "exact_match")

    @with_parameters_of(SealModel.__init__)
    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        task_net: Lazy[TaskNet],
        *,
        by_role: bool = False,
        predicates_from: Optional[str] = None,
        crossing_weight: float = 0.0,
        **settings: Any,
    ) -> None:
        check_range("model.crossing_weight", crossing_weight, least=0)
        super().__init__(vocab, output_space, task_net=task_net, **settings)
        self._crossing_weight = crossing_weight
        self._crossing_spans = CrossingSpans(output_space.labels)
        self.predicates_from = predicates_from
        self._predicate_head = torch.nn.Linear(require(self.task_net, "task_net").get_output_dim(), 1)
        self._score = SrlScore(by_role=by_role)
        self._own_score = SrlScore()
        self._predicate_score = FBetaMeasure(average=None, labels=[1])  # type: ignore[arg-type]

    def task_state(
        self,
        tokens: TextFieldTensors,
        predicate: torch.Tensor,
        tags: Optional[torch.Tensor] = None,
        is_predicate: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> TaskState:
        """
        The state of the rows with a predicate. The other rows enter only its `auxiliary_losses`.
        """
        state = self._pass(tokens, predicate, tags, metadata)
        frames = predicate.any(dim=1)
        number = int(frames.sum())
        if number < len(frames):
            # Indices, as each use of a boolean mask waits for its count from the GPU.
            rows, rest = (~frames).long().sort(stable=True).indices.split([number, len(frames) - number])
            losses = {}
            if is_predicate is not None:
                found = self.predicate_logits(require(state.hidden, "hidden")[rest])
                finder_loss = _finder_loss(found, is_predicate[rest], require(state.mask, "mask")[rest])
                losses["predicate_loss"] = finder_loss.mean()
            state = dataclasses.replace(
                state.of_rows(rows),
                gold=None if tags is None else tags[rows],
                auxiliary_losses=losses,
                earlier=None if state.earlier is None else state.earlier[rows],
            )
            if metadata is not None:
                metadata = [metadata[row] for row in rows.tolist()]
        if self._crossing_weight and metadata is not None:
            relaxed = self.output_space.relax(state.logits, state.mask).squeeze(1)
            state.auxiliary_losses["crossing_loss"] = self._crossing_weight * self._crossing_spans(relaxed, metadata)
        return state

    def _pass(
        self,
        tokens: TextFieldTensors,
        predicate: torch.Tensor,
        tags: Optional[torch.Tensor],
        metadata: Optional[list[dict[str, Any]]],
    ) -> TaskState:
        """The state of all rows, those without a predicate included."""
        if self.training:
            self.unknown_gold.refuse(metadata)
        mask = get_text_field_mask(tokens)
        inputs = {"tokens": tokens, "predicate": predicate}
        logits, hidden, earlier = require(self.task_net, "task_net")(inputs, mask)
        return TaskState(inputs, logits, hidden, mask, tags, earlier=earlier)

    def predicate_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """`(rows, words)`: the log-odds that a word is a predicate, from vectors of rows without one."""
        return in_full_precision(self._predicate_head, hidden).squeeze(-1)

    def forward(
        self,
        tokens: TextFieldTensors,
        predicate: torch.Tensor,
        tags: Optional[torch.Tensor] = None,
        is_predicate: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        predicate : `torch.LongTensor`, `(rows, words)`
            1 at the word whose frame is asked for; a row of zeros asks for the sentence's predicates.
        tags : `torch.LongTensor`, `(rows, words)`, optional
        is_predicate : `torch.LongTensor`, `(rows, words)`, optional
            1 at every predicate of the sentence.
        metadata : `list[dict[str, Any]]`, optional

        # Returns

        tags : `torch.LongTensor`, `(rows, words)`
            The most probable legal tags, or those that the structure or `inference` chose; without meaning in a row
            without a predicate.
        log_prob : `torch.FloatTensor`, `(rows,)`
            The log-probability of those tags, in nats: under the task-net, or under the relaxed tags that `inference`
            found.
        probability : `torch.FloatTensor`, `(rows,)`
            How likely those tags are to be right, by the structure's calibration, if `with_probability` is set and
            there is one; without meaning in a row without a predicate.
        predicate_prob : `torch.FloatTensor`, `(rows, words)`
            The probability that a word is a predicate; without meaning in a row with a predicate.
        energy : `torch.FloatTensor`, `(rows,)`
            The energy of those tags, if `with_energy` is set and there is a loss-net.
        loss : `torch.Tensor`, a scalar
            If gold is given and the task-net predicts: the cross-entropy of the tags, summed over words and averaged
            over the rows with a predicate, plus that of the predicate finder, summed over words and averaged over the
            other rows. Rows with a tag that the vocabulary lacks do not count.
        """
        state = self._pass(tokens, predicate, tags, metadata)
        unknown = [] if self.training or tags is None else self.unknown_gold.note(metadata)
        mask, predicate_logits = require(state.mask, "mask"), self.predicate_logits(require(state.hidden, "hidden"))
        output = {"predicate_prob": predicate_logits.sigmoid() * mask}
        frames = predicate.any(dim=1)
        if tags is not None and self.inference is None:
            cross_entropy = self.output_space.cross_entropy(state.logits, tags, mask)
            finder_loss = _finder_loss(predicate_logits, require(is_predicate, "is_predicate"), mask)
            scored = frames & rows_with_known_gold(unknown, cross_entropy)
            output["loss"] = masked_mean(cross_entropy, scored) + masked_mean(finder_loss, ~frames)
        if not self.training:
            own = self._predict(output, state, frames, metadata)
            if self.gives_energy:
                output["energy"] = self.energy(state, output["tags"].unsqueeze(1)).squeeze(1)
            if tags is not None:
                finder = (predicate_logits * mask).sum(dim=1)
                check_scored((output["log_prob"] + finder).unsqueeze(1), metadata)
                self._update_metrics(output, own, frames, is_predicate, mask, metadata)
        return output

    def _predict(self, output, state: TaskState, frames, metadata) -> torch.Tensor:
        """Adds `tags`, `log_prob` and, where it is given, `probability`; returns the task-net's own tags."""
        logits, mask = state.logits, require(state.mask, "mask")
        output["tags"] = own = torch.zeros_like(mask, dtype=torch.long)
        output["log_prob"] = at_least_float(logits).new_zeros(len(logits))
        # The best of the candidates is what decoding would find; only frames have some.
        rows = frames.nonzero().squeeze(1)
        if self.gives_probability:
            output["probability"] = output["log_prob"]
        of_frames = state if len(rows) in (0, len(frames)) else state.of_rows(rows)
        if len(rows) and (self.chooses or self.gives_probability):
            tags, log_prob, best, probability = self._decided(of_frames, [metadata[row] for row in rows.tolist()])
            output["tags"], own = own.index_put((rows,), tags), own.index_put((rows,), best)
            output["log_prob"] = output["log_prob"].index_put((rows,), log_prob)
            if probability is not None:
                output["probability"] = output["probability"].index_put((rows,), probability.to(log_prob))
        if not self.chooses and self.inference is None:
            output["tags"], output["log_prob"] = self._predicted(state)
            own = output["tags"]
        elif not self.chooses and len(rows):
            tags, log_prob = self._predicted(of_frames)
            output["tags"] = own = own.index_put((rows,), tags)
            output["log_prob"] = output["log_prob"].index_put((rows,), log_prob.to(output["log_prob"]))
        return own

    def paths(
        self, state: TaskState, metadata: Iterable[dict[str, Any]], outputs: Optional[torch.Tensor] = None
    ) -> TagPaths:
        """As in `TagModel`, for rows with a predicate."""
        rows = list(metadata)
        found = super().paths(state, rows, outputs)
        places = state.inputs["predicate"].argmax(dim=1).tolist()
        keys = [words[place].lower() for words, place in zip(found.words, places)]
        return dataclasses.replace(found, keys=keys, places=places, lemmas=[row.get("lemma") for row in rows])

    def held_out(self, batch: dict[str, Any]) -> dict[str, Any]:
        state = self.task_state(**batch)
        frames = batch["predicate"].any(dim=1).nonzero().squeeze(1).tolist()
        return self.paths(state, (batch["metadata"][row] for row in frames)).record(self.gold(state))

    def takes_pseudo_labels(self, instance: Instance) -> bool:
        # In files with frames, a sentence's own instance is for the predicate finder.
        return _has_predicate(instance) or self.needs_expansion(instance)

    def needs_expansion(self, instance: Instance) -> bool:
        return "tags" not in instance.fields and not _has_predicate(instance)

    @torch.no_grad()
    def expansions(self, batch: dict[str, Any]) -> list[list[int]]:
        """The indices of the predicates that the model finds in each sentence."""
        found = self(**self.without_gold(batch))["predicate_prob"] >= 0.5
        return [row.nonzero().squeeze(1).tolist() for row in found]

    def expanded(self, instance: Instance, expansion: int) -> Instance:
        tokens: Any = instance["tokens"]
        predicate = SequenceLabelField([int(place == expansion) for place in range(len(tokens))], tokens)
        return replace_fields(instance, {"predicate": expansion}, predicate=predicate)

    def pseudo_labelled(self, instance: Instance, output: torch.Tensor, **more: Field) -> Instance:
        # Read of instances that ask for predicates alone, but a batch's instances have the same fields.
        return super().pseudo_labelled(instance, output, is_predicate=instance["predicate"], **more)

    def _update_metrics(self, output, own, frames, is_predicate, mask, metadata) -> None:
        rows = frames.nonzero().squeeze(1).tolist()
        gold = [metadata[i]["tags"] for i in rows]
        self._score(self._names(output["tags"], rows, metadata), gold)
        if self.has_learned_structure:
            self._own_score(self._names(own, rows, metadata), gold)
            self.structure.count_broken(output["tags"][frames], own[frames], mask[frames])
        # Called for every batch: the metric exchanges counts, and workers that do not all call it equally often hang.
        found, rest = output["predicate_prob"], mask & ~frames.unsqueeze(1)
        self._predicate_score(torch.stack([1 - found, found], dim=-1), is_predicate, rest)

    def _names(self, tags: torch.Tensor, rows: list[int], metadata: list[dict[str, Any]]) -> list[list[str]]:
        decoded = tags.tolist()
        return [[self._labels[t] for t in decoded[i][: len(metadata[i]["words"])]] for i in rows]

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        output_dict["tags"] = [[self._labels[t] for t in row] for row in output_dict["tags"].tolist()]
        return output_dict

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """
        `f1`, `precision`, `recall` (percent, as srl-eval.pl), `ucr` (percent of predicates with a core role more than
        once), `duplicates` (the core roles that a predicate has more than once, summed over predicates), `exact_match`
        (percent of predicates all of whose arguments are right), `predicate_f1` (percent), with a structure that has
        been learned `f1_own`, `ucr_own` and `exact_match_own`, the same of the task-net's own output, with `by_role` an
        `f1-<role>` of each role (percent), and the means of the training losses.
        """
        metrics = super().get_metrics(reset)
        if not self.training:
            metrics.update(self._scores(reset))
            found = self._predicate_score
            if found._pred_sum is not None and found._pred_sum.sum() > 0:
                metrics["predicate_f1"] = 100 * found.get_metric(reset)["fscore"][0]
        return metrics


def _has_predicate(instance: Instance) -> bool:
    field: Any = instance["predicate"]
    return any(field.labels)


def _finder_loss(logits: torch.Tensor, is_predicate: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of the predicate finder, summed over the words of each row: `(rows,)`."""
    loss = F.binary_cross_entropy_with_logits(logits, is_predicate.float(), reduction="none")
    return (loss * mask).sum(dim=1)
