import torch


def in_full_precision(layer: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """
    `layer(hidden)` in the precision of the layer's weights, also in mixed precision. Energies may be a few hundred, and
    candidates differ by less than half precision tells apart there.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        return layer(hidden.to(layer.weight.dtype))
