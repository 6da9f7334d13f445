from collections.abc import Callable
from typing import NamedTuple, Optional

import torch

from seal.common.setting_checks import check_choice, check_range
from seal.constraints import AtMostOne, Constraint, Declared
from seal.energies.energy import declared_for
from seal.output_spaces import OutputSpace
from seal.registry import ConfigurationError, Registrable


class NetTerms(NamedTuple):
    """
    The inputs of a task loss for one network: three numbers for each instance, `(batch,)` each.

    # Parameters

    supervised : `torch.Tensor`
        The supervised part, in nats, summed over the structure.
    energy : `torch.Tensor`, optional
        `E(x, .)` of the relaxed output; `None` where the energy is not used.
    cost : `torch.Tensor`, optional
        `Delta(., y)` of the relaxed output; `None` where the loss has no cost.
    """

    supervised: torch.Tensor
    energy: Optional[torch.Tensor] = None
    cost: Optional[torch.Tensor] = None


class TaskLoss(Registrable):
    """
    `L_F = energy_weight * E(x, F(x)) + cross_entropy_weight * CE(F(x), y)` of each instance, whose mean over the batch
    trains the task-net (SEAL, NeurIPS 2022, Eq. 1). The loss-net is a constant in it.

    # Parameters

    energy_weight : `float`, optional (default = `1.0`)
        `lambda_1`. With 0 every training step is one of cross-entropy training.
    cross_entropy_weight : `float`, optional (default = `1.0`)
        `lambda_2`.
    straight_through : `bool`, optional (default = `False`)
        Whether to take the energy and its gradient at the discrete output nearest to the relaxed one, and to pass this
        gradient on to the relaxed output unchanged. The ranking losses train the loss-net on discrete outputs only, so
        nothing determines its energy between them.

    # Raises

    `ConfigurationError` if a weight is negative or both are 0.
    """

    default_implementation = "weighted"
    #: The name of the supervised part in the metrics.
    supervised_name = "cross_entropy"
    #: Whether the loss trains a cost-augmented network beside the task-net.
    takes_cost_augmented = False
    #: Whether the loss reads the energy of gold.
    needs_gold_energy = False
    #: Whether the loss draws from the task-net's distribution.
    draws = False
    #: True: the energy of draws, by `energy_of_samples`; false: the energy of the relaxed output.
    through_draws = False

    def __init__(
        self,
        energy_weight: float = 1.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        check_range("task_loss.energy_weight", energy_weight, least=0)
        check_range("task_loss.cross_entropy_weight", cross_entropy_weight, least=0)
        if energy_weight == cross_entropy_weight == 0:
            raise ConfigurationError("task_loss: energy_weight and cross_entropy_weight are both 0; set one of them.")
        self.energy_weight = energy_weight
        self.cross_entropy_weight = cross_entropy_weight
        self.straight_through = straight_through

    def supervised(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """`CE(F(x), y)` of each instance: `(batch,)`."""
        return output_space.cross_entropy(logits, gold, mask)

    def supervised_in_steps(
        self,
        output_space: OutputSpace,
        earlier: Optional[torch.Tensor],
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        `supervised` of a net that has found its logits in steps; `earlier`, `(batch, steps, *structure)`, are those of
        the steps before the last. Here the last step alone counts.
        """
        return self.supervised(output_space, logits, gold, mask)

    def energy_of_samples(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        energy: Callable[[torch.Tensor], torch.Tensor],
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        The energy term of a loss with `through_draws`, whose gradient trains the task-net.

        # Parameters

        output_space : `OutputSpace`
        logits : `torch.Tensor`, `(batch, *structure)`
        energy : `Callable[[torch.Tensor], torch.Tensor]`
            `E(x, .)` of candidates `(batch, samples, *output)`: `(batch, samples)`.
        mask : `torch.BoolTensor`, optional

        # Returns

        `torch.Tensor`, `(batch,)`
        """
        raise NotImplementedError

    def cost(
        self,
        output_space: OutputSpace,
        outputs: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> Optional[torch.Tensor]:
        """`Delta` of relaxed outputs `(batch, nets, *structure)`: `(batch, nets)`; `None` where the loss has none."""
        return None

    def __call__(
        self,
        task_net: NetTerms,
        cost_augmented: Optional[NetTerms] = None,
        gold_energy: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        # Parameters

        task_net : `NetTerms`
        cost_augmented : `NetTerms`, optional
            The terms of the model's cost-augmented network, if it has one.
        gold_energy : `torch.Tensor`, `(batch,)`, optional
            The energy of gold, a constant; given where the loss needs it and the energy is used.

        # Returns

        `torch.Tensor`, `(batch,)`
        """
        loss = self.cross_entropy_weight * task_net.supervised
        if task_net.energy is not None and self.energy_weight > 0:
            loss = loss + self.energy_weight * task_net.energy
        return loss


TaskLoss.register("weighted")(TaskLoss)


#: The weight of step `t` of `T` steps, before all are scaled to a sum of 1.
WEIGHTS = ("late", "equal")


@TaskLoss.register("every_step")
class EveryStepLoss(TaskLoss):
    """
    Cross-entropy at every step of a net that finds its output in steps, such as the task-net `unrolled`:

        sum_{t=1..T} w_t CE(z_t, y),   w_t ~ 1 / (T - t + 1)

    with logits `z_t` after step `t`. It asks for a descent that is good early (Belanger, Yang & McCallum 2017). The
    weights add up to 1, so that learning rates need not change with `T`.

    # Parameters

    As for `TaskLoss`, but for an `energy_weight` of 0 if none is set, and

    weights : `str`, optional (default = `"late"`)
        `"late"`: `w_t` as above. `"equal"`: all are `1 / T`.

    # Raises

    `ConfigurationError` for other weights, as for `weighted`, and in training if the net has no steps.
    """

    def __init__(
        self,
        weights: str = "late",
        energy_weight: float = 0.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        check_choice("task_loss.weights", weights, WEIGHTS)
        self._weights = weights

    def supervised_in_steps(self, output_space, earlier, logits, gold, mask=None) -> torch.Tensor:
        if earlier is None:
            raise ConfigurationError(
                "task_loss: 'every_step' is for a task_net that finds its output in steps, of type 'unrolled'; take "
                "'weighted'."
            )
        iterates = [*earlier.unbind(dim=1), logits]
        steps = len(iterates)
        shares = [1 / (steps - step) if self._weights == "late" else 1.0 for step in range(steps)]
        losses = [self.supervised(output_space, iterate, gold, mask) for iterate in iterates]
        return sum((share / sum(shares) * loss for share, loss in zip(shares, losses)), torch.zeros(()))


@TaskLoss.register("task_net_ranking")
class TaskNetRankingLoss(TaskLoss):
    """
    The ranking loss on the task-net itself, in place of cross-entropy (SEAL, NeurIPS 2022, section 5, an
    ablation): `-log( P(y | x) / sum_{k=0..K} P(y_k | x) )` with gold `y_0 = y` and `K` draws `y_k` from the
    task-net. The draws are constants; the gradient passes through the log-probabilities. The loss is at least 0.
    A draw made `n` times counts `n` times, also where it equals gold.

    # Parameters

    As for `TaskLoss`, but for an `energy_weight` of 0 if none is set, and

    num_samples : `int`, optional (default = `20`)
        `K`.

    # Raises

    `ConfigurationError` if `num_samples` is below 1, or as for `weighted`.
    """

    supervised_name = "task_net_ranking"
    draws = True

    def __init__(
        self,
        num_samples: int = 20,
        energy_weight: float = 0.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        check_range("task_loss.num_samples", num_samples, least=1)
        self._num_samples = num_samples

    def supervised(self, output_space, logits, gold, mask=None) -> torch.Tensor:
        draws = output_space.sample(logits.detach(), self._num_samples, mask)
        outputs = output_space.stack(gold.unsqueeze(1), draws)
        return -output_space.log_prob(logits, outputs, mask).log_softmax(dim=1)[:, 0]


@TaskLoss.register("constrained")
class ConstrainedLoss(TaskLoss):
    """
    Cross-entropy, and how far the relaxed output breaks declared rules, an energy with nothing to learn:

    `CE(F(x), y) + weight * sum_c v_c(relax(F(x)))`

    With the rule that no core role occurs twice this is the structured tuning of Li et al. (2020). Their `v` is another
    one, `log_space`; the constraints' violations are expected counts above the limit. It is the first of their three
    rules. The second, about a sentence's predicates, is `crossing_weight` of the model `seal_srl`; the third, about
    roles that a predicate's frame lacks, needs a lexicon of frames, and is left out.

    # Parameters

    As for `TaskLoss`, but for an `energy_weight` of 0 if none is set, and

    constraints : `list[Constraint]`
        See `seal.constraints`.
    weight : `float`, optional (default = `1.0`)
        In nats for each violation; at least 0.
    log_space : `bool`, optional (default = `False`)
        Whether spans that may begin once each (`at_most_one` with `each`, of tags that encode spans) are priced as in
        Li et al. (2020): with `p_t` the probability that a span `X` begins at token `t`,

            v(y) = sum_X sum_t max(log p_t - min_{u != t} log(1 - p_u), 0)

        which is the implication "if `X` begins at `t`, it begins nowhere else" in log-space.

    # Raises

    `ConfigurationError` as for `weighted`, without any rule, for a negative weight, with `log_space` for another rule,
    and at the first batch if outputs are masks, with `log_space` if they encode no spans, or if a rule names a label
    that is not there.
    """

    supervised_name = "constrained_cross_entropy"

    def __init__(
        self,
        constraints: list[Constraint],
        weight: float = 1.0,
        energy_weight: float = 0.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
        log_space: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        check_range("task_loss.weight", weight, least=0)
        if log_space and not all(isinstance(rule, AtMostOne) and rule.each for rule in constraints):
            raise ConfigurationError(
                "task_loss.log_space: this form is for rules 'at_most_one' with 'each' alone; leave it out, or the "
                "other rules."
            )
        if not constraints:
            raise ConfigurationError("task_loss.constraints: give at least one rule, or take the loss 'weighted'.")
        self._constraints, self._weight = constraints, weight
        self._declared: Optional[Declared] = None
        self._log_space = log_space

    def supervised(self, output_space, logits, gold, mask=None) -> torch.Tensor:
        cross_entropy = output_space.cross_entropy(logits, gold, mask)
        relaxed = output_space.relax(logits, mask)
        if self._declared is None:
            if self._log_space and getattr(output_space, "encoding", None) is None:
                raise ConfigurationError("task_loss.log_space: it is for tags that encode spans; leave it out.")
            self._declared = declared_for("task_loss.constraints: rules", self._constraints, output_space)
        declared = self._declared.to(logits.device)
        if self._log_space:
            names = [name for rule in self._constraints if isinstance(rule, AtMostOne) for name in rule.labels]
            violations = repeated_in_log_space(declared.begins(relaxed.squeeze(1), names))
        else:
            violations = declared(relaxed, mask).squeeze(1).sum(dim=-1)
        return cross_entropy + self._weight * violations


def repeated_in_log_space(begins: torch.Tensor) -> torch.Tensor:
    """
    `sum_X sum_t max(log p_t - min_{u != t} log(1 - p_u), 0)` of `p`, `(batch, tokens, labels)`: `(batch,)`. A
    probability counts as at least, and at most 1 less, 1e-6.
    """
    if begins.shape[1] < 2:
        return begins.new_zeros(len(begins))
    begins = begins.clamp(1e-6, 1 - 1e-6)
    # The least log(1 - p) of the other tokens is that of the likeliest of these.
    likeliest, at = begins.topk(2, dim=1)
    tokens = torch.arange(begins.shape[1], device=begins.device).view(1, -1, 1)
    other = torch.where(tokens == at[:, :1], likeliest[:, 1:], likeliest[:, :1])
    return (begins.log() - torch.log1p(-other)).clamp(min=0).sum(dim=(1, 2))
