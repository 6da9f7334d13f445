"""Adapters: small trainable layers inside a frozen transformer."""

from typing import cast

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from torch.nn import functional as F

from seal.common.setting_checks import check_choice, check_range

#: The sublayers of a transformer's layer that an adapter follows, by the names of the papers' authors.
PLACEMENTS = ("houlsby", "pfeiffer")


class AdaptedLayer(torch.nn.Module):
    """
    A linear layer followed by a bottleneck adapter, `h + U gelu(D h + d) + u` of its outputs `h` (Houlsby et al. 2019,
    section 2.1). `U` and `u` start at 0, so that at first nothing changes.

    # Parameters

    layer : `torch.nn.Linear`
    dim : `int`
        The size of the bottleneck: the number of rows of `D`.
    """

    def __init__(self, layer: torch.nn.Linear, dim: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = torch.nn.Linear(layer.out_features, dim)
        self.up = torch.nn.Linear(dim, layer.out_features)
        torch.nn.init.zeros_(self.up.weight)
        torch.nn.init.zeros_(self.up.bias)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """`(..., inputs)` to `(..., outputs)`."""
        hidden = self.layer(inputs)
        return hidden + self.up(F.gelu(self.down(hidden)))


class Adapters(FromParams):
    """
    Bottleneck adapters in a transformer that is otherwise not trained (SEAL, ICLR 2022 submission, section 4.2). Each
    has `2 width dim + width + dim` parameters.

    # Parameters

    dim : `int`, optional (default = `64`)
    placement : `str`, optional (default = `"houlsby"`)
        `"houlsby"`: after the attention's output and after the feed-forward one, two per layer. `"pfeiffer"`: after
        the latter alone, as Pfeiffer et al. 2021 found to be enough. Both come before the residual connection.

    # Raises

    `ConfigurationError` if `dim` is less than 1 or there is no such placement.
    """

    def __init__(self, dim: int = 64, placement: str = "houlsby") -> None:
        check_range("encoder.adapters.dim", dim, least=1)
        check_choice("encoder.adapters.placement", placement, PLACEMENTS)
        self._dim = dim
        self._placement = placement

    def insert(self, transformer: torch.nn.Module) -> None:
        """
        Freezes the transformer's parameters and puts the adapters in.

        # Parameters

        transformer : `torch.nn.Module`
            A model of the library transformers with BERT's layers: BERT, RoBERTa, ELECTRA, MiniLM and so on. It is
            changed in place.

        # Raises

        `ConfigurationError` if its layers are not BERT's.
        """
        blocks = self._blocks(transformer)
        for parameter in transformer.parameters():
            parameter.requires_grad_(False)
        for block in blocks:
            block.dense = AdaptedLayer(cast(torch.nn.Linear, block.dense), self._dim)

    def _blocks(self, transformer: torch.nn.Module) -> list[torch.nn.Module]:
        """The modules whose layer `dense`, a linear one, gets an adapter."""
        names: tuple[str, ...] = ("output",) if self._placement == "pfeiffer" else ("attention.output", "output")
        try:
            layers = transformer.get_submodule("encoder.layer").children()
            blocks = [layer.get_submodule(name) for layer in layers for name in names]
            found = bool(blocks) and all(isinstance(block.dense, torch.nn.Linear) for block in blocks)
        except AttributeError:
            found = False
        if not found:
            raise ConfigurationError(
                f"encoder.adapters: there is no place for them in a {type(transformer).__name__}; take a transformer "
                "with BERT's layers (BERT, RoBERTa, ELECTRA), or leave adapters out."
            )
        return blocks
