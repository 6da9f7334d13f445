"""The encoders of images."""

from typing import Any, Optional

import torch

from seal.energies.mask_convolution import check_convolutions, convolution, initialized
from seal.nets.encoders.encoder import Encoder
from seal.registry import Activation, ConfigurationError

#: Red, green and blue.
COLOURS = 3


@Encoder.register("image_convolution")
class ImageConvolution(Encoder):
    """
    One convolution of an image, `K x + b` at every pixel and without an activation: the image's half of the first
    layer of a net that reads image and mask together, whose other half is the energy `mask_convolution` (SEAL, NeurIPS
    2022, section 4). It is computed once for an image, for all its candidate masks.

    Reads `image (batch, 3, H, W)`; gives `(batch, H, W, size)`.

    # Parameters

    channels : `int`, optional (default = `64`)
        The size of the vectors.
    kernel_size : `int`, optional (default = `5`)
        Odd, so that every pixel has its vector.

    # Raises

    `ConfigurationError` if there are no channels, or the kernel has no middle.
    """

    def __init__(self, channels: int = 64, kernel_size: int = 5) -> None:
        super().__init__()
        check_convolutions("encoder", [channels], kernel_size)
        self._convolution = convolution(COLOURS, channels, kernel_size)

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        return channels_last(self._convolution(inputs["image"]))

    def get_output_dim(self) -> int:
        return self._convolution.out_channels


@Encoder.register("fully_convolutional")
class FullyConvolutional(Encoder):
    """
    A fully convolutional network (Long, Shelhamer & Darrell 2015, as the feedforward baseline of Gygli et al. 2017):
    one convolution at full size, one with stride 2 for each further entry of `channels`, and one transposed
    convolution with stride 2 for each entry of `up_channels`. Each is followed by an activation. The papers give no
    sizes: these are ours.

    Reads `image (batch, 3, H, W)` of any size; gives `(batch, H, W, size)`, a vector a pixel.

    # Parameters

    channels : `list[int]`, optional (default = `[64, 128, 128]`)
        The sizes of the convolutions.
    up_channels : `list[int]`, optional (default = `[128, 64]`)
        The sizes of the transposed ones, one less than `channels`; the last is the size of the vectors.
    kernel_size : `int`, optional (default = `5`)
        The kernel size of all of them; odd.
    dropout : `float`, optional (default = `0.0`)
        Dropout of whole channels, where the image is smallest.
    activation : `Activation`, optional (default = `relu`)
        A smooth one, such as `softplus`, where second derivatives are taken.

    # Raises

    `ConfigurationError` if a number of channels is below 1, the transposed convolutions are not one less, or the
    kernel has no middle.
    """

    def __init__(
        self,
        channels: Optional[list[int]] = None,
        up_channels: Optional[list[int]] = None,
        kernel_size: int = 5,
        dropout: float = 0.0,
        activation: Optional[Activation] = None,
    ) -> None:
        super().__init__()
        channels = [64, 128, 128] if channels is None else channels
        up_channels = [128, 64] if up_channels is None else up_channels
        check_convolutions("encoder", [*channels, *up_channels], kernel_size)
        if len(up_channels) != len(channels) - 1:
            raise ConfigurationError(
                f"encoder.up_channels: one less than channels, {len(channels) - 1}, not {len(up_channels)}: what was "
                "halved is doubled."
            )
        sizes = [COLOURS, *channels]
        self._down = torch.nn.ModuleList(
            convolution(*pair, kernel_size, 2 if place else 1) for place, pair in enumerate(zip(sizes, sizes[1:]))
        )
        sizes = [channels[-1], *up_channels]
        self._up = torch.nn.ModuleList(
            initialized(torch.nn.ConvTranspose2d(*pair, kernel_size, stride=2, padding=kernel_size // 2))
            for pair in zip(sizes, sizes[1:])
        )
        self._dropout = torch.nn.Dropout2d(dropout)
        self._activation = activation or Activation.by_name("relu")()
        self._size = sizes[-1]

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        # shape: (batch, channels, height, width), here and below
        hidden = inputs["image"]
        sizes = []
        for layer in self._down:
            sizes.append(hidden.shape[-2:])
            hidden = self._activation(layer(hidden))
        hidden = self._dropout(hidden)
        # The first convolution has not changed the size.
        for layer, size in zip(self._up, reversed(sizes[1:])):
            hidden = self._activation(layer(hidden, output_size=size))
        return channels_last(hidden)

    def get_output_dim(self) -> int:
        return self._size


def channels_last(hidden: torch.Tensor) -> torch.Tensor:
    """`(batch, channels, H, W)` to the vectors that encoders give, `(batch, H, W, channels)`."""
    return hidden.permute(0, 2, 3, 1)
