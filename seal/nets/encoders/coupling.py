"""The encoder `coupling_convolution`: coupling steps of convolutions at several scales of an image."""

from typing import Any, Optional

import torch
from torch.nn import functional

from seal.common.setting_checks import check_range
from seal.energies.mask_convolution import check_convolutions, convolution
from seal.nets.encoders.encoder import Encoder
from seal.nets.encoders.image import COLOURS, channels_last
from seal.registry import Activation, ConfigurationError

# Levels for an image of any size, and the most of all: they halve a side of 1,024 pixels to one.
_ANY_SIZE, _MOST_LEVELS = 3, 10


class CouplingStep(torch.nn.Module):
    """
    `h + f(h)`, where `f` is the coupling network of Glow and cGLOW: convolutions of 3 x 3, 1 x 1 and 3 x 3 with an
    activation between them, of which the last begins at zero, so that the step changes nothing at first.
    """

    def __init__(self, channels: int, width: int, activation: torch.nn.Module) -> None:
        super().__init__()
        self._first = convolution(channels, width, 3)
        self._second = convolution(width, width, 1)
        self._last = convolution(width, channels, 3)
        torch.nn.init.zeros_(self._last.weight)
        self._activation = activation

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        changed = self._activation(self._second(self._activation(self._first(hidden))))
        return hidden + self._last(changed)


@Encoder.register("coupling_convolution")
class CouplingConvolution(Encoder):
    """
    A network for whole images in the style of cGLOW ([Lu & Huang 2020](https://arxiv.org/abs/1905.13288)), which
    implicit training (Shankar & Piratla) names as its inference network without details. A first convolution of 3 x 3
    works at full size. Each of the `levels` squeezes 2 x 2 pixels into one pixel with four times the channels, applies
    `depth` coupling steps, and splits the channels: the next level reads one half, and the other half waits. On the way
    back, each level joins both halves, applies as many steps, and unfolds each pixel into 2 x 2.

    The squeeze, the split and the coupling network are published, and so are the authors' sizes for Weizmann's horses:
    3 levels of 8 steps, and a `width` of 256. The changes for prediction are ours: a step adds to all channels instead
    of scaling and shifting one half by the other; there is no normalisation and no invertible mixing; and there are the
    first convolution and the way back. The default sizes, for 160 training images, are ours, too.

    Reads `image (batch, 3, H, W)` of any size, which is padded at its right and lower edges to a multiple of
    `2 ** levels`; returns `(batch, H, W, channels)`, a vector for each pixel.

    # Parameters

    channels : `int`, optional (default = `16`)
        The channels at full size, an even number; there are twice as many at each further level.
    width : `int`, optional (default = `64`)
        The channels inside a step.
    levels : `int`, optional (default = `3`)
        At most 10. From the fourth on, at most as many as halve the longer side of an image to one pixel: further
        levels would compute mostly padding, and each has twice the weights of the one before.
    depth : `int`, optional (default = `2`)
        The number of steps at each level, in each direction.
    dropout : `float`, optional (default = `0.0`)
        Dropout of whole channels, where the image is smallest.
    activation : `Activation`, optional (default = `relu`)
        A smooth one, such as `softplus`, where second derivatives are taken.

    # Raises

    `ConfigurationError` if a size is out of range, or `channels` is odd; and, for an image, if it is too small for
    `levels`.
    """

    def __init__(
        self,
        channels: int = 16,
        width: int = 64,
        levels: int = 3,
        depth: int = 2,
        dropout: float = 0.0,
        activation: Optional[Activation] = None,
    ) -> None:
        super().__init__()
        check_convolutions("encoder", [channels, width], kernel_size=3)
        if min(levels, depth) < 1 or channels % 2:
            raise ConfigurationError(
                "encoder: give at least one of levels and of depth, and an even number of channels."
            )
        check_range("encoder.levels", levels, most=_MOST_LEVELS)
        activation = activation or Activation.by_name("relu")()
        self._levels, self._size = levels, channels
        self._first = convolution(COLOURS, channels, 3)
        # Squeezing makes four channels of one, and splitting leaves half of them: 4c, 8c, 16c.
        sizes = [4 * channels * 2**level for level in range(levels)]

        def steps_of(size: int) -> torch.nn.Sequential:
            return torch.nn.Sequential(*(CouplingStep(size, width, activation) for _ in range(depth)))

        self._there = torch.nn.ModuleList(map(steps_of, sizes))
        self._back = torch.nn.ModuleList(map(steps_of, sizes))
        self._dropout = torch.nn.Dropout2d(dropout)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        # shape: (batch, channels, height, width), here and below
        image = inputs["image"]
        height, width = image.shape[-2:]
        most = max(_ANY_SIZE, (max(height, width) - 1).bit_length())
        if self._levels > most:
            raise ConfigurationError(
                f"encoder.levels: {self._levels} levels halve the sides of an image so often that one of {height} x "
                f"{width} would be filled up to {2**self._levels} x {2**self._levels}; set at most {most}."
            )
        multiple = 2**self._levels
        hidden = self._first(functional.pad(image, (0, -width % multiple, 0, -height % multiple)))
        waiting = []
        for level, steps in enumerate(self._there):
            hidden = steps(functional.pixel_unshuffle(hidden, 2))
            if level < self._levels - 1:
                hidden, half = hidden.chunk(2, dim=1)
                waiting.append(half)
        hidden = self._dropout(hidden)
        for steps in reversed(self._back):
            hidden = functional.pixel_shuffle(steps(hidden), 2)
            if waiting:
                hidden = torch.cat([hidden, waiting.pop()], dim=1)
        return channels_last(hidden[..., :height, :width])

    def get_output_dim(self) -> int:
        return self._size
