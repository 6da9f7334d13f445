"""Convolutional layers for images, shared by nets and energies."""

from typing import TypeVar

import torch

from seal.registry import ConfigurationError

Layer = TypeVar("Layer", torch.nn.Conv2d, torch.nn.ConvTranspose2d)


def convolution(inputs: int, outputs: int, kernel_size: int, stride: int = 1) -> torch.nn.Conv2d:
    """A padded convolution: an image with a side of `n` pixels becomes one with a side of `n / stride`, rounded up."""
    return initialized(torch.nn.Conv2d(inputs, outputs, kernel_size, stride=stride, padding=kernel_size // 2))


def initialized(layer: Layer) -> Layer:
    """Initialises `layer` as in the other encoders, weights Kaiming-uniform and biases 0, and returns it."""
    torch.nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    if layer.bias is not None:
        torch.nn.init.zeros_(layer.bias)
    return layer


def check_convolutions(key: str, channels: list[int], kernel_size: int) -> None:
    if min(channels) < 1:
        raise ConfigurationError(f"{key} has a convolution of {min(channels)} channels; give at least 1.")
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise ConfigurationError(f"{key} has kernel_size {kernel_size}; give an odd number.")
