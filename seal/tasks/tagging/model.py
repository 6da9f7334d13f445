from collections.abc import Iterable
from typing import Any, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance, TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask

from seal.common.setting_checks import require, with_parameters_of
from seal.common.tag_encodings import tags_to_spans
from seal.output_spaces import OutputSpace, TagSequence
from seal.structure.tag_paths import TagPaths
from seal.structure.tag_structure import TagStructure
from seal.tasks.base.fields import KnownLabelsField, replace_fields
from seal.tasks.base.scored_rows import check_scored, masked_mean, rows_with_known_gold
from seal.tasks.base.seal_model import SealModel
from seal.tasks.tagging.tagging_score import TaggingScore
from seal.two_player.objectives import TaskState


class TagModel(SealModel):
    """
    The base of models whose outputs are sequences of tags, among the best of which a structure can choose.

    # Raises

    `ConfigurationError` if the output space is of another kind.
    """

    structure_kind = TagStructure
    can_pseudo_label = True
    #: Whether each sequence has a key, such as the predicate of a frame.
    keyed = False

    output_space: TagSequence

    def __init__(self, vocab: Vocabulary, output_space: OutputSpace, **settings: Any) -> None:
        if not isinstance(output_space, TagSequence):
            raise ConfigurationError(
                f"model.output_space.type: '{self.default_predictor}' predicts tag sequences: 'tag_sequence', "
                "'legal_tag_sequence' or 'crf_tag_sequence'."
            )
        super().__init__(vocab, output_space, **settings)
        self._labels = output_space.labels

    def paths(
        self, state: TaskState, metadata: Iterable[dict[str, Any]], outputs: Optional[torch.Tensor] = None
    ) -> TagPaths:
        """
        The sequences of tags that compete under the structure; or in their place `outputs`, `(rows, candidates,
        words)`, with a log-probability of 0.
        """
        space, logits, mask = self.output_space, state.logits, require(state.mask, "mask")
        if outputs is None:
            outputs, log_prob, token_log_prob = self.structure.best_paths(space, logits, mask)
        else:
            log_prob = outputs.new_zeros(outputs.shape[:2], dtype=torch.float)
            reads = self.structure.reads_token_scores
            token_log_prob = space.log_marginals_of(logits, outputs, mask) if reads else None
        words = [list(row["words"]) for row in metadata]
        return TagPaths(outputs, log_prob, mask, token_log_prob=token_log_prob, words=words)

    def _decided(
        self, state: TaskState, metadata: Iterable[dict[str, Any]]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
        """
        The tags that the structure chooses, `(rows, words)`, and their log-probability under the task-net, `(rows,)`;
        the task-net's own tags; and, if asked for, the probability that the chosen tags are gold, `(rows,)`.
        """
        paths = self.paths(state, metadata)
        tags, log_prob, probability = self.structure.decide_with_probability(
            paths, with_probability=self.gives_probability
        )
        return tags, log_prob, paths.tags[:, 0], probability

    def _predicted(self, state: TaskState) -> tuple[torch.Tensor, torch.Tensor]:
        """
        The tags that the task-net or `inference` predicts, `(rows, words)`, and their log-probability, `(rows,)`: under
        the task-net, or under the relaxed tags that `inference` found.
        """
        space, logits = self.output_space, state.logits
        if self.inference is None:
            tags = space.decode(logits, state.mask)
        else:
            tags = self.infer(state)
            if tags.is_floating_point():
                logits = space.to_logits(tags.unsqueeze(1)).squeeze(1)
                tags = self._nearest(state, logits)
        return tags, space.log_prob(logits, tags.unsqueeze(1), state.mask).squeeze(1)

    def _nearest(self, state: TaskState, logits: torch.Tensor) -> torch.Tensor:
        """
        The best legal tags under the logits of relaxed ones. If the optimum of the energy is an illegal sequence, all
        other tags of a word are equally far from it. The result is then the nearest legal sequence of the least energy.
        """
        tags = self.output_space.decode(logits, state.mask)
        rows = (tags != logits.argmax(dim=-1) * require(state.mask, "mask")).any(dim=1).nonzero().squeeze(1)
        if len(rows):
            chosen = state.of_rows(rows)
            # Enough for each tag in the place of either tag of an illegal pair.
            paths, log_prob = self.output_space.k_best(logits[rows], 2 * len(self._labels), chosen.mask)
            energy = self.energy(chosen, paths).masked_fill(log_prob.isinf(), torch.inf)
            tags[rows] = paths[torch.arange(len(rows), device=rows.device), energy.argmin(dim=1)]
        return tags

    def structure_settings(self) -> dict[str, Any]:
        return {"tags": self.output_space.labels, "encoding": self.output_space.encoding, "keyed": self.keyed}

    def fit_structure(self, training: list[dict[str, Any]], validation: list[dict[str, Any]]) -> dict[str, Any]:
        return self.structure.fit(*([TagPaths(**record) for record in records] for records in (training, validation)))

    def drawn(self, inputs: dict[str, Any], num_samples: int) -> torch.Tensor:
        state = self.task_state(**inputs)
        if self.structure is not None and self.structure.is_followed(self.structure.main_score):
            return self.structure.draw(self.paths(state, inputs["metadata"]), num_samples)
        return self.output_space.sample(state.logits, num_samples, state.mask)

    def pseudo_labelled(self, instance: Instance, output: torch.Tensor, **more: Field) -> Instance:
        tokens: Any = instance["tokens"]
        tags = KnownLabelsField(output[: len(tokens)].tolist(), tokens, self.output_space.namespace)
        return replace_fields(instance, {"tags": None}, tags=tags, **more)


@Model.register("seal_tagging")
class TaggingModel(TagModel):
    """
    Sequence labelling: a tag for each word (`seal_tagging` reader). If the output space has an encoding, the tags
    encode entities, which are scored too.

    # Parameters

    As for `SealModel`, and

    by_label : `bool`, optional (default = `False`)
        Report entity F1 of each label.
    """

    default_predictor = "seal_tagging"
    own_scores = ("accuracy", "exact_match", "f1")

    @with_parameters_of(SealModel.__init__)
    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        *,
        by_label: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(vocab, output_space, **settings)
        #: Whether the tags encode entities.
        self.has_spans = self.output_space.encoding is not None
        if by_label and not self.has_spans:
            raise ConfigurationError(
                "model.by_label: tags without an encoding have no entities; drop it, or set output_space.encoding."
            )
        self._score = TaggingScore(spans=self.has_spans, by_label=by_label)
        self._own_score = TaggingScore(spans=self.has_spans)
        self._cost_augmented_score = TaggingScore(spans=self.has_spans)

    def task_state(
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
        **features: torch.Tensor,
    ) -> TaskState:
        if "labelled" in features:
            raise ConfigurationError(
                "dataset_reader.labelled: the model 'seal_tagging' has no use for sentences without tags; take "
                "'seal_partly_labelled_tagging', or max_instances in its place."
            )
        if self.training:
            self.unknown_gold.refuse(metadata)
        mask = get_text_field_mask(tokens)
        inputs = {"tokens": tokens, **features}
        logits, hidden, earlier = self._task_net_output(inputs, *mask.shape, len(self._labels), mask=mask)
        return TaskState(inputs, logits, hidden, mask, tags, earlier=earlier)

    def forward(  # type: ignore[override]
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
        **features: torch.Tensor,
    ) -> dict[str, Any]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        tags : `torch.LongTensor`, `(rows, words)`, optional
        metadata : `list[dict[str, Any]]`, optional
        features : `torch.LongTensor`, `(rows, words)`
            The reader's feature columns by name, for encoders that read them.

        # Returns

        tags : `torch.LongTensor`, `(rows, words)`
            The best legal tags, as the output space decodes them, of the task-net or of the relaxed tags that
            `inference` found; or the sequence that `inference` chose. Not in training.
        log_prob : `torch.FloatTensor`, `(rows,)`
            The log-probability of those tags, in nats: under the task-net, or under the relaxed tags that `inference`
            found. Not in training.
        probability : `torch.FloatTensor`, `(rows,)`
            How likely those tags are to be right, by the structure's calibration, if `with_probability` is set and
            there is one. Not in training.
        energy : `torch.FloatTensor`, `(rows,)`
            The energy of those tags, if `with_energy` is set and there is a loss-net. Not in training.
        cost_augmented_tags : `torch.LongTensor`, `(rows, words)`
            The tags of the cost-augmented network, if there is one and gold is given. Not in training.
        num_words : `torch.LongTensor`, `(rows,)`
            The length of each sentence.
        loss : `torch.Tensor`, a scalar
            Cross-entropy of the task-net, summed over words, averaged over rows, where gold is given and the task-net
            predicts. Rows with a tag that the vocabulary lacks do not count.
        """
        # Only scoring needs the cost-augmented network here.
        make = self.task_state if self.training or tags is None else self.state_of_all_nets
        state = make(tokens=tokens, tags=tags, metadata=metadata, **features)
        mask = require(state.mask, "mask")
        output: dict[str, Any] = {"num_words": mask.sum(dim=1)}
        unknown = [] if self.training or tags is None else self.unknown_gold.note(metadata)
        if self.inference is None and tags is not None:
            losses = self.output_space.cross_entropy(state.logits, tags, mask)
            output["loss"] = masked_mean(losses, rows_with_known_gold(unknown, losses))
        if not self.training:
            probability = None
            if self.chooses:
                output["tags"], output["log_prob"], own, probability = self._decided(state, metadata or [])
            else:
                output["tags"], output["log_prob"] = self._predicted(state)
                own = output["tags"]
                if self.gives_probability and self.inference is None:
                    # The probability of the best path, which decoding found.
                    *_, probability = self._decided(state, metadata or [])
            if probability is not None:
                output["probability"] = probability
            if self.gives_energy:
                output["energy"] = self.energy(state, output["tags"].unsqueeze(1)).squeeze(1)
            if tags is not None:
                check_scored(output["log_prob"].unsqueeze(1), metadata)
                # Gold as strings, which have no padding: tags predicted there do not count.
                gold = [sentence["tags"] for sentence in metadata or ()]
                self._score(self._strings(output), gold)
                if self.has_learned_structure:
                    self._own_score(self._strings({**output, "tags": own}), gold)
                    self.structure.count_broken(output["tags"], own, mask)
                if state.cost_augmented is not None:
                    output["cost_augmented_tags"] = self.output_space.decode(state.cost_augmented, mask)
                    self._cost_augmented_score(self._strings(output, "cost_augmented_tags"), gold)
        return output

    def held_out(self, batch: dict[str, Any]) -> dict[str, Any]:
        state = self.task_state(**batch)
        return self.paths(state, batch["metadata"]).record(self.gold(state))

    def _strings(self, output: dict[str, Any], name: str = "tags") -> list[list[str]]:
        lengths = output["num_words"].tolist()
        return [[self._labels[t] for t in row[:n]] for row, n in zip(output[name].tolist(), lengths)]

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """
        `tags` become strings, one for each word, without padding. Where tags encode entities, each sentence has
        `spans`, a list of `(label, first word, last word)`, inclusive.
        """
        for name in ("tags", "cost_augmented_tags"):
            if name in output_dict:
                output_dict[name] = self._strings(output_dict, name)
        if self.has_spans:
            output_dict["spans"] = [tags_to_spans(tags) for tags in output_dict["tags"]]
        return output_dict

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """
        In percent: `accuracy` of tokens and `exact_match` of sentences; with a structure that has been learned
        `accuracy_own` and so on, the same of the task-net's own output; where tags encode entities, their `precision`,
        `recall` and `f1`, and with `by_label` an `f1-<label>` of each label. Also the means of the training losses.
        Metrics of a cost-augmented network begin with `cost_augmented_`; as it may see gold, they say something about
        training only.
        """
        metrics = super().get_metrics(reset)
        if not self.training:
            metrics.update(self._scores(reset))
            if self.cost_augmented_net is not None:
                theirs = self._cost_augmented_score.get_metric(reset)
                metrics.update({f"cost_augmented_{name}": value for name, value in theirs.items()})
        return metrics
