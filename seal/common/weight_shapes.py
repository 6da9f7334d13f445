from typing import Dict, Mapping, Tuple

import torch


def shapes_of(weights: Mapping[str, torch.Tensor]) -> Dict[str, Tuple[int, ...]]:
    """The shape of each weight, by its name."""
    return {name: tuple(value.shape) for name, value in weights.items()}
