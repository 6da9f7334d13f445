from typing import Any

import torch

from seal.registry import Registrable


class Encoder(torch.nn.Module, Registrable):
    """
    A feature network: `T_F` of the task-net or `T_E` of the loss-net (SEAL, NeurIPS 2022, section 4).

    `inputs` are the model's input tensors by name. Which names it reads is part of each encoder's documentation;
    the model of the task gives them.
    """

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        """Hidden vectors: `(batch, size)`; `(batch, tokens, size)` for sequences; `(batch, H, W, size)` for images."""
        raise NotImplementedError

    def get_output_dim(self) -> int:
        raise NotImplementedError
