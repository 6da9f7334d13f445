from typing import Any, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask

from seal.common.linear_trees import WORD, brackets_of
from seal.common.setting_checks import check_range, require, with_parameters_of
from seal.nets import AttentionDecoder, TaskNet, TreeBeam, tree_beam
from seal.output_spaces import LinearTree, OutputSpace
from seal.samplers import Reranking, Sampler
from seal.structure.tree_structure import KBestTrees, TreeStructure
from seal.tasks.base.scored_rows import check_scored, masked_mean, rows_with_known_gold
from seal.tasks.base.seal_model import SealModel
from seal.tasks.parsing.bracket_score import BracketScore
from seal.tasks.tagging import TaggingScore
from seal.two_player.objectives import TaskState


@Model.register("seal_parsing")
class ParsingModel(SealModel):
    """
    Constituency parsing as a sequence of symbols (`seal_parsing` reader; Tu, Pang & Gimpel 2020, appendix A.1): the
    task-net gives each symbol from the words and the symbols before it. In training, these are gold's, and the other
    methods of the package see a sequence of output steps, as they see tags. Beam search predicts, and always finds a
    tree over the sentence.

    # Parameters

    As for `SealModel`; a task-net is needed, and of samplers `inference` can only be `rerank`, whose candidates are the
    trees of the beam, at least `num_samples` of them. And

    beam : `int`, optional (default = `5`)
        So many beginnings of a tree are kept at each step; 1 is greedy.
    """

    default_predictor = "seal_parsing"
    gold_fields = ("symbols",)
    structure_kind = TreeStructure
    gold_key = "symbols"
    own_scores = ("exact_match", "f1")

    output_space: LinearTree

    @with_parameters_of(SealModel.__init__)
    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        task_net: Lazy[TaskNet],
        *,
        beam: int = 5,
        **settings: Any,
    ) -> None:
        check_range("model.beam", beam, least=1)
        if not isinstance(output_space, LinearTree):
            raise ConfigurationError("model.output_space.type: 'seal_parsing' predicts trees: 'linear_tree'.")
        super().__init__(vocab, output_space, task_net=task_net, **settings)
        if not isinstance(require(self.task_net, "task_net").encoder, AttentionDecoder):
            raise ConfigurationError(
                "model.task_net.encoder.type: parsing goes step by step, which needs an 'attention_decoder'; what "
                "reads the words is its 'source'."
            )
        if self.inference is not None:
            _check_reranking(self.inference)
        self.beam = beam
        #: The trees that the search of the last prediction found.
        self.last_beam: Optional[TreeBeam] = None
        self._score, self._own_score = BracketScore(), BracketScore()
        self._step_score, self._cost_augmented_score = TaggingScore(spans=False), TaggingScore(spans=False)

    def check_inference(self, inference: Sampler) -> None:
        super().check_inference(inference)
        _check_reranking(inference)

    def task_state(
        self,
        tokens: TextFieldTensors,
        symbols: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> TaskState:
        if symbols is None:
            raise ConfigurationError(
                "the data have no trees, and the symbol of each step depends on those before it: training, and each "
                "loss, needs gold trees."
            )
        if self.training:
            self.unknown_gold.refuse(metadata)
        lengths = torch.tensor([len(item["symbols"]) for item in metadata or ()], device=symbols.device)
        mask = torch.arange(symbols.shape[1], device=symbols.device) < lengths.unsqueeze(1)
        return self._state(tokens, symbols, mask)

    def _state(self, tokens: TextFieldTensors, symbols: torch.Tensor, mask: torch.Tensor) -> TaskState:
        """The state of given trees: the net reads, for each step, the earlier symbols of the tree."""
        inputs = {**_words(tokens), "earlier": self.output_space.before(symbols)}
        logits, hidden, earlier = require(self.task_net, "task_net")(inputs, mask)
        return TaskState(inputs, logits, hidden, mask, symbols, earlier=earlier)

    def forward(
        self,
        tokens: TextFieldTensors,
        symbols: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
    ) -> dict[str, Any]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        symbols : `torch.LongTensor`, `(rows, steps)`, optional
            The symbols of gold trees.
        metadata : `list[dict[str, Any]]`, optional

        # Returns

        loss : `torch.Tensor`, a scalar
            Cross-entropy of the task-net, summed over steps, averaged over rows, where gold is given and there is no
            `inference`. Rows with a symbol that the vocabulary lacks do not count.
        symbols : `torch.LongTensor`, `(rows, steps)`
            The predicted trees. Not in training.
        num_steps : `torch.LongTensor`, `(rows,)`
            The length of each. Not in training.
        log_prob : `torch.FloatTensor`, `(rows,)`
            The log-probability of these trees under the task-net, in nats. Not in training.
        probability : `torch.FloatTensor`, `(rows,)`
            How likely these trees are to be right, by the structure's calibration, if `with_probability` is set and
            there is one. Not in training.
        energy : `torch.FloatTensor`, `(rows,)`
            The energy of these trees, if `with_energy` is set and there is a loss-net. Not in training.
        """
        output: dict[str, Any] = {}
        state, space = None, self.output_space
        if symbols is not None:
            make = self.task_state if self.training else self.state_of_all_nets
            state = make(tokens=tokens, symbols=symbols, metadata=metadata)
            unknown = [] if self.training else self.unknown_gold.note(metadata)
            if self.inference is None:
                losses = space.cross_entropy(state.logits, symbols, state.mask)
                output["loss"] = masked_mean(losses, rows_with_known_gold(unknown, losses))
        if not self.training:
            beam = self.last_beam = self.search(tokens, self.chooses)
            chosen = torch.zeros(len(beam.symbols), dtype=torch.long, device=beam.symbols.device)
            probability = None
            if self.chooses:
                best_trees = self.best_trees(beam, metadata or [])
                found, probability = self.structure.choose(best_trees, with_probability=self.gives_probability)
                chosen = found.to(chosen.device)
            elif isinstance(self.inference, Reranking):
                chosen = self.inference.chosen(self.energies(tokens, beam), beam.log_prob)
            elif self.gives_probability:
                probability = self._probability_of_own(tokens, beam, metadata or [])
            if probability is not None:
                output["probability"] = probability
            rows = torch.arange(len(chosen), device=chosen.device)
            predicted, mask = beam.symbols[rows, chosen], beam.mask[rows, chosen]
            output |= {"symbols": predicted, "num_steps": mask.sum(dim=1), "log_prob": beam.log_prob[rows, chosen]}
            if self.gives_energy:
                of_predicted = self._state(tokens, predicted, mask)
                output["energy"] = self.energy(of_predicted, predicted.unsqueeze(1)).squeeze(1)
            if state is not None:
                check_scored(output["log_prob"].unsqueeze(1), metadata)
                metadata = metadata or []
                self._count(output, state, metadata)
                if self.has_learned_structure:
                    own = self.own_trees(beam, tokens) if self.chooses else self._best(beam)
                    self._own_score(own, [item["symbols"] for item in metadata], _tags(metadata))
        return output

    def search(self, tokens: TextFieldTensors, for_structure: bool) -> TreeBeam:
        """
        The trees that beam search finds: with `for_structure` as many as those among which the structure chooses, and
        otherwise as many as prediction without a structure keeps, or `inference` chooses from.
        """
        width = self.beam
        if for_structure:
            width = max(width, self.structure.num_candidates)
        elif isinstance(self.inference, Reranking):
            width = max(width, self.inference.num_samples)
        return tree_beam(require(self.task_net, "task_net"), self.output_space, _words(tokens), width)

    def _best(self, beam: TreeBeam) -> list[list[str]]:
        """The symbols of the first tree of each row."""
        return self._strings(beam.symbols[:, 0], beam.mask[:, 0].sum(dim=1))

    def own_trees(self, beam: TreeBeam, tokens: TextFieldTensors) -> list[list[str]]:
        """The trees predicted without a structure; `beam` has the candidates, from a wider search."""
        same = self.beam >= self.structure.num_candidates
        return self._best(beam if same else self.search(tokens, for_structure=False))

    def _probability_of_own(
        self, tokens: TextFieldTensors, own: TreeBeam, metadata: list[dict[str, Any]]
    ) -> torch.Tensor:
        """How likely the first tree of each row of a beam is to be right, `(rows,)`, by those that compete."""
        best = self.best_trees(self.search(tokens, for_structure=True), metadata)
        return self.structure.probability_of(best, self._best(own), own.log_prob[:, 0])

    def energies(self, tokens: TextFieldTensors, beam: TreeBeam) -> torch.Tensor:
        """The loss-net's energy of each tree of a beam: `(rows, candidates)`."""
        states = (self._state(tokens, *trees) for trees in zip(beam.symbols.unbind(1), beam.mask.unbind(1)))
        return torch.cat([self.energy(state, self.gold(state).unsqueeze(1)) for state in states], dim=1)

    def best_trees(self, beam: TreeBeam, metadata: list[dict[str, Any]]) -> KBestTrees:
        """The trees of a beam as plain values, the best first, without fillers."""
        lengths = beam.mask.sum(dim=2).tolist()
        real = beam.log_prob.isfinite().sum(dim=1).tolist()
        trees = [
            [self.output_space.strings(tree[:steps]) for tree, steps in zip(rows[:number], of_rows)]
            for rows, of_rows, number in zip(beam.symbols.tolist(), lengths, real)
        ]
        return KBestTrees(trees, [item["words"] for item in metadata], beam.log_prob, tags=_tags(metadata))

    def structure_settings(self) -> dict[str, Any]:
        return {"symbols": self.output_space.labels}

    def held_out(self, batch: dict[str, Any]) -> dict[str, Any]:
        metadata = batch["metadata"]
        beam = self.search(batch["tokens"], for_structure=True)
        best_trees = self.best_trees(beam, metadata)
        return {
            "trees": best_trees.trees,
            "words": best_trees.words,
            "log_prob": best_trees.log_prob.float().cpu(),
            # As strings: the vocabulary may lack some.
            "gold": [item["symbols"] for item in metadata],
            "tags": best_trees.tags,
            "own": self.own_trees(beam, batch["tokens"]),
        }

    def fit_structure(self, training: list[dict[str, Any]], validation: list[dict[str, Any]]) -> dict[str, Any]:
        records = ([KBestTrees(**record) for record in part] for part in (training, validation))
        return self.structure.fit(*records)

    def _count(self, output: dict[str, Any], state: TaskState, metadata: list[dict[str, Any]]) -> None:
        space = self.output_space
        gold = [item["symbols"] for item in metadata]
        self._score(self._strings(output["symbols"], output["num_steps"]), gold, _tags(metadata))
        lengths = require(state.mask, "mask").sum(dim=1)
        self._step_score(self._strings(space.decode(state.logits, state.mask), lengths), gold)
        if state.cost_augmented is not None:
            theirs = space.decode(state.cost_augmented, state.mask)
            self._cost_augmented_score(self._strings(theirs, lengths), gold)

    def _strings(self, symbols: torch.Tensor, lengths: torch.Tensor) -> list[list[str]]:
        return [self.output_space.strings(row[:n]) for row, n in zip(symbols.tolist(), lengths.tolist())]

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """
        `symbols` become strings, without padding. Each sentence has `constituents`, a list of `(label, first word, last
        word)`, inclusive, each before those inside it; none where the net's output is not finite.
        """
        strings = self._strings(output_dict["symbols"], output_dict["num_steps"])
        found = [brackets_of(symbols) if symbols else [] for symbols in strings]
        output_dict["symbols"] = strings
        output_dict["constituents"] = [[(label, start, end - 1) for label, start, end in tree] for tree in found]
        return output_dict

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """
        In percent: `f1`, `precision` and `recall` of labelled brackets as `evalb` counts them, and `exact_match` of
        trees (`BracketScore`); with a structure that has been learned `f1_own` and `exact_match_own`, those of the
        task-net's own trees, by the model's `beam`; `step_accuracy`, the share of steps whose symbol is right after
        gold's. Also the means of the training losses. `cost_augmented_accuracy` is the accuracy of a cost-augmented
        network's steps; the network may see gold, so it describes training only.
        """
        metrics = super().get_metrics(reset)
        if not self.training:
            metrics.update(self._scores(reset))
            metrics["step_accuracy"] = self._step_score.get_metric(reset)["accuracy"]
            if self.cost_augmented_net is not None:
                metrics["cost_augmented_accuracy"] = self._cost_augmented_score.get_metric(reset)["accuracy"]
        return metrics


def _check_reranking(inference: Sampler) -> None:
    if not isinstance(inference, Reranking):
        raise ConfigurationError("model.inference: trees are chosen from those of the beam; take 'rerank'.")


def _words(tokens: TextFieldTensors) -> dict[str, Any]:
    """The inputs of the decoder: the words and their mask."""
    return {"tokens": tokens, "words": get_text_field_mask(tokens)}


def _tags(metadata: list[dict[str, Any]]) -> list[list[str]]:
    """The parts of speech of each sentence; without them no word is punctuation."""
    return [item["tags"] or [WORD] * len(item["words"]) for item in metadata]
