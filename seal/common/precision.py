import torch


def in_full_precision(layer: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """
    `layer(hidden)` in the precision of the layer's weights, also in mixed precision: candidates differ by less than half
    precision tells apart in numbers of a few hundred, which energies are.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        return layer(hidden.to(layer.weight.dtype))
