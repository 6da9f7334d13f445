from dataclasses import dataclass
from typing import Callable, Optional

import torch


@dataclass
class Curvature:
    """
    A symmetric matrix `H` that a solver may ask about, never written out.

    # Parameters

    product : `Callable[[torch.Tensor], torch.Tensor]`
        `p`, `(size,)`, to `H p`, `(size,)`.
    size : `int`
    dtype : `torch.dtype`
    device : `torch.device`
    example_gradients : `Callable[[], torch.Tensor]`, optional
        The gradient of each example's loss, `(examples, size)`; `sherman_morrison` alone asks.
    generator : `torch.Generator`, optional
        Of the random vectors of `diagonal` and `nystroem`; torch's own where `None`. With several replicas all
        must draw the same.
    """

    product: Callable[[torch.Tensor], torch.Tensor]
    size: int
    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")
    example_gradients: Optional[Callable[[], torch.Tensor]] = None
    generator: Optional[torch.Generator] = None

    @classmethod
    def of_matrix(cls, matrix: torch.Tensor, **others) -> "Curvature":
        """That of a matrix, `(size, size)`: for small problems and tests."""
        return cls(matrix.mv, len(matrix), matrix.dtype, matrix.device, **others)

    def normal(self, rows: int) -> torch.Tensor:
        """Independent normal draws: `(rows, size)`."""
        device = self.device if self.generator is None else self.generator.device
        shape = (rows, self.size)
        return torch.randn(shape, generator=self.generator, dtype=self.dtype, device=device).to(self.device)

    def signs(self) -> torch.Tensor:
        """Independent draws of -1 or 1, each as likely: `(size,)`."""
        return torch.where(self.normal(1)[0] < 0, -1.0, 1.0).to(self.dtype)
