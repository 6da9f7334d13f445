from dataclasses import dataclass, replace
from typing import Any, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model

from seal.losses import EnergyLoss, RewardedContrastiveDivergenceLoss, TaskLoss
from seal.nets import LossNet, TaskNet
from seal.output_spaces import Candidates, OutputSpace, RewardedCandidates
from seal.rewards import Reward
from seal.samplers import DiscreteSampler, RewardSearch, Sampler
from seal.tasks.tagging.model import TaggingModel
from seal.two_player.objectives import LossTerms, TaskState


@dataclass(kw_only=True)
class PartlyLabelledState(TaskState):
    """
    # Parameters

    words : `list[list[str]]`
        The words of each row.
    labelled : `torch.BoolTensor`, `(batch,)`, optional
        Whether the row has tags; `None`: all have. `gold` of the other rows is a placeholder that must not be read.
    """

    words: list[list[str]]
    labelled: Optional[torch.Tensor]


@Model.register("seal_partly_labelled_tagging")
class PartlyLabelledTaggingModel(TaggingModel):
    """
    Sequence labelling from few sentences with tags and many without; for the latter, a `reward` says how good a tagging
    is (implicit-training paper, "Citation Field Extraction"). It goes with the reader's option `labelled`. A batch may
    mix the two kinds of rows: a row's part of a loss does not depend on the mixture.

    On rows with tags, the loss-net learns by contrastive divergence with `Delta = 1 - token accuracy`, and the
    task-net by `L_Aux = CE + lambda E(x, A(x))`. On rows without, the output of the highest reward among draws from
    the task-net and its best output is improved by `search`; the result `y+` takes the place of gold, with
    `Delta(y_k) = R(x, y+) - R(x, y_k)`, and `L_Aux` is `lambda E(x, A(x))` alone. The paper does not say how rewards
    enter the losses.

    # Parameters

    As for `TaggingModel`, except that it has no `inference`, no `structure`, no `score` and no `cost_augmented_net` and
    needs both nets, with the sampler `discrete`, the energy loss `rewarded_contrastive_divergence` and the task loss
    `weighted`, and

    reward : `Reward`
    search : `RewardSearch`, optional (default = `RewardSearch()`)

    # Raises

    `ConfigurationError` if a part is of another kind.
    """

    gives_rewards = True

    def __init__(
        self,
        vocab: Vocabulary,
        output_space: OutputSpace,
        task_net: Lazy[TaskNet],
        loss_net: Lazy[LossNet],
        reward: Reward,
        sampler: Optional[Sampler] = None,
        energy_loss: Optional[EnergyLoss] = None,
        task_loss: Optional[TaskLoss] = None,
        search: Optional[RewardSearch] = None,
        by_label: bool = False,
    ) -> None:
        sampler, energy_loss = sampler or DiscreteSampler(), energy_loss or RewardedContrastiveDivergenceLoss()
        for name, part, wanted, known_as in (
            ("sampler", sampler, DiscreteSampler, "discrete"),
            ("energy_loss", energy_loss, RewardedContrastiveDivergenceLoss, "rewarded_contrastive_divergence"),
            ("task_loss", task_loss or TaskLoss(), TaskLoss, "weighted"),
        ):
            # A task loss of another kind has a cost, which is a function of gold.
            if type(part) is not wanted:
                raise ConfigurationError(
                    f"model.{name}.type: sentences without tags have rewards in the place of gold, which "
                    f"{type(part).__name__} knows nothing of; take '{known_as}'."
                )
        parts = {"task_net": task_net, "loss_net": loss_net, "sampler": sampler, "energy_loss": energy_loss}
        super().__init__(vocab, output_space, by_label=by_label, task_loss=task_loss, **parts)
        self._reward, self._search = reward, search or RewardSearch()

    def task_state(
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
        labelled: Optional[torch.Tensor] = None,
        **features: torch.Tensor,
    ) -> PartlyLabelledState:
        state = super().task_state(tokens, tags, metadata, **features)
        words = [sentence["words"] for sentence in metadata or ()]
        return PartlyLabelledState(**vars(state), words=words, labelled=None if labelled is None else labelled.bool())

    def forward(  # type: ignore[override]
        self,
        tokens: TextFieldTensors,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[list[dict[str, Any]]] = None,
        labelled: Optional[torch.Tensor] = None,
        **features: torch.Tensor,
    ) -> dict[str, Any]:
        """As `TaggingModel.forward`. A batch that has a row without tags gives neither loss nor metrics."""
        if labelled is not None and not labelled.all():
            tags = None
        return super().forward(tokens, tags, metadata, **features)

    @torch.no_grad()
    def sample(self, state: Any) -> RewardedCandidates:
        drawn = super().sample(state)
        outputs, target = drawn.outputs, state.gold.clone()
        labelled = torch.ones_like(target[:, 0], dtype=torch.bool) if state.labelled is None else state.labelled
        gap = torch.zeros(outputs.shape[:2], device=outputs.device)
        rows = (~labelled).nonzero().squeeze(1)
        if len(rows) > 0:
            words = [state.words[row] for row in rows.tolist()]
            reward, mask = self._reward.of(words, self.output_space.labels, outputs.device), state.mask[rows]
            best = self.output_space.decode(state.logits[rows], mask)
            starts = self.output_space.stack(outputs[rows], best.unsqueeze(1))
            target[rows], value = self._search(reward, starts, self.output_space, mask)
            of_draws = reward(outputs[rows], mask)
            # A reward that is summed in another order may differ in its last digit; that counts as a tie.
            behind = value.unsqueeze(1) - of_draws
            gap[rows] = torch.where(behind > 1e-6, behind, 0.0)
            counts = drawn.log_counts().exp()
            self.monitor("reward_draws", (counts[rows] * of_draws).sum() / counts[rows].sum())
            self.monitor("reward_target", value.mean())
        return RewardedCandidates(**vars(drawn), target=target, labelled=labelled, reward_gap=gap)

    def loss_net_loss(self, state: Any, candidates: Candidates, features: Optional[list[Any]] = None) -> torch.Tensor:
        if not isinstance(candidates, RewardedCandidates):
            raise ConfigurationError(
                "trainer.through: 'relaxed' and 'soft' make new candidates, whose rewards nobody knows; take "
                "'straight_through'."
            )
        return super().loss_net_loss(replace(state, gold=candidates.target), candidates, features)

    def _terms(self, state: Any, features: Optional[list[Any]]) -> LossTerms:
        terms = super()._terms(state, features)
        if state.labelled is None:
            return terms
        # Not a product with 0: the placeholder for gold may have an infinite loss.
        supervised = torch.where(state.labelled, terms.task_net.supervised, 0.0)
        return terms._replace(task_net=terms.task_net._replace(supervised=supervised))
