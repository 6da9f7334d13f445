from dataclasses import dataclass
from typing import Optional, Union

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import check_choice
from seal.hypergradients import InverseHessianVector, NeumannSeries, ShermanMorrison
from seal.hypergradients.vector_products import PRODUCTS
from seal.models import SealModel
from seal.samplers import check_new_candidates, check_through
from seal.training.unrolling import Unrolling
from seal.two_player.model_checks import check_finite_differences, check_implicit

#: The geometries in which the system can be solved.
GEOMETRIES = ("euclidean", "adam")


@dataclass
class Bilevel:
    """
    The settings of bi-level training, as `ImplicitGradientTrainer` describes them. No `solver` becomes the default.

    # Raises

    `ConfigurationError` for a choice that there is not, or what only a system has where `unroll` is set.
    """

    solver: Optional[InverseHessianVector]
    implicit: bool
    through: str
    products: str
    inner_parameters: Optional[Union[str, list[str]]]
    warm_start: bool
    geometry: str
    unroll: Optional[Unrolling]

    def __post_init__(self) -> None:
        check_through(self.through, "trainer.through")
        check_choice("trainer.products", self.products, PRODUCTS)
        check_choice("trainer.geometry", self.geometry, GEOMETRIES)
        if self.unroll is not None:
            self._check_no_system()
        if self.solver is None:
            self.solver = NeumannSeries(damping=0.1, max_steps=5)

    def _check_no_system(self) -> None:
        of_a_system = {
            "solver": self.solver is not None,
            "warm_start": self.warm_start,
            "geometry": self.geometry == "adam",
        }
        for name, given in of_a_system.items():
            if given:
                raise ConfigurationError(
                    f"trainer.{name}: with 'unroll' no system is solved; leave one of the two out."
                )

    def check_model(self, model: SealModel) -> None:
        """It is an error if the model's gradient cannot be computed in this way."""
        check_new_candidates(self.through, model.sampler, model.energy_loss)
        if isinstance(self.solver, ShermanMorrison) and not self.solver.average:
            raise ConfigurationError(
                "trainer.solver.average: the task-net's loss is the mean over the instances of a batch, not their sum; "
                "leave it out, or set it to true."
            )
        if self.implicit:
            check_implicit(model.task_loss)
            if self.products == "finite_differences":
                check_finite_differences(model)

    def check_distributed(self, parts: int) -> None:
        """
        It is an error if workers cannot solve one system together; `parts` is the number of batches that are
        accumulated.
        """
        if self.solver.needs_examples:
            raise ConfigurationError(
                f"trainer.solver.type: {type(self.solver).__name__} would see the examples of one worker only; leave "
                "out distributed, or take 'conjugate_gradient'."
            )
        if parts > 1:
            raise ConfigurationError(
                "trainer.num_gradient_accumulation_steps: with distributed all workers solve for their batches "
                "together, and one may have fewer of them in its last group than another; leave it out and take "
                "smaller batches."
            )
