from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional

import torch


@dataclass
class Curvature:
    """
    A symmetric matrix `H`, `(size, size)`, that a solver knows by its products with vectors; it is never formed.

    # Parameters

    product : `Callable[[torch.Tensor], torch.Tensor]`
        Maps `p`, `(size,)`, to `H p`, `(size,)`.
    size : `int`
    dtype : `torch.dtype`
    device : `torch.device`
    example_gradients : `Callable[[], torch.Tensor]`, optional
        Returns the gradient of each example's loss, `(examples, size)`; only `sherman_morrison` needs it.
    generator : `torch.Generator`, optional
        Draws the random vectors of `diagonal` and `nystroem`; torch's own where `None`. Several replicas must all draw
        the same vectors.
    """

    product: Callable[[torch.Tensor], torch.Tensor]
    size: int
    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")
    example_gradients: Optional[Callable[[], torch.Tensor]] = None
    generator: Optional[torch.Generator] = None

    @classmethod
    def of_matrix(cls, matrix: torch.Tensor, **others) -> "Curvature":
        """The curvature of a given matrix, `(size, size)`: for small problems and tests."""
        return cls(matrix.mv, len(matrix), matrix.dtype, matrix.device, **others)

    def scaled(self, scale: torch.Tensor) -> "Curvature":
        """`S H S` with `S = diag(scale)`, `(size,)`."""
        rows = self.example_gradients
        return replace(
            self,
            product=lambda vector: scale * self.product(scale * vector),
            example_gradients=None if rows is None else lambda: rows() * scale,
        )

    def normal(self, rows: int) -> torch.Tensor:
        """Independent normal draws: `(rows, size)`."""
        device = self.device if self.generator is None else self.generator.device
        shape = (rows, self.size)
        return torch.randn(shape, generator=self.generator, dtype=self.dtype, device=device).to(self.device)

    def signs(self) -> torch.Tensor:
        """Independent draws of -1 or 1, each as likely: `(size,)`."""
        return torch.where(self.normal(1)[0] < 0, -1.0, 1.0).to(self.dtype)
