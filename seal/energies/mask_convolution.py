from typing import Optional, TypeVar

import torch

from seal.common.precision import in_full_precision
from seal.common.setting_checks import check_range
from seal.energies.energy import Energy, check_output_space
from seal.output_spaces import BinaryMask, OutputSpace
from seal.registry import Activation, ConfigurationError

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


@Energy.register("mask_convolution")
class MaskConvolutionEnergy(Energy):
    """
    The energy of an image with a mask (Gygli et al. 2017; SEAL, NeurIPS 2022, section 4): convolutions that read
    both, and fully connected layers to one number.

        h_0 = f( hidden + K y )      hidden = T_E(x), the encoder `image_convolution`
        h_n = f( conv_n(h_{n-1}) )   each halves the size
        E   = w^T f( W_2 f( W_1 h_N ) )

    A convolution of an image and a mask together is the sum of a convolution of the image and one of the mask, so
    the image's part is computed once for all its candidates. The further layers treat the candidates of all instances
    as one large batch.

    # Parameters

    input_dim, output_space : given by the loss-net.
    channels : `list[int]`, optional (default = `[128, 128]`)
        The output channels of each convolution after the first.
    hidden_dims : `list[int]`, optional (default = `[384, 192]`)
        The sizes of the fully connected layers before the last.
    kernel_size : `int`, optional (default = `5`)
        An odd number.
    dropout : `float`, optional (default = `0.0`)
        The dropout probability before each fully connected layer but the last. All candidates of an image share one
        dropout mask, so that dropout never decides which of two candidates has the lower energy.
    activation : `Activation`, optional (default = `swish`)
        A smooth function: gradient-based inference follows its first derivative, and implicit gradients need the
        second. `softplus` is unsuitable: it is above 0 everywhere, and in a sum over thousands of its values the
        effect of a mask is lost.

    # Raises

    `ConfigurationError` if the outputs are not masks, a size is below 1, or `kernel_size` is even.
    """

    def __init__(
        self,
        input_dim: int,
        output_space: OutputSpace,
        channels: Optional[list[int]] = None,
        hidden_dims: Optional[list[int]] = None,
        kernel_size: int = 5,
        dropout: float = 0.0,
        activation: Optional[Activation] = None,
    ) -> None:
        super().__init__()
        key = "loss_net.energies: 'mask_convolution'"
        masks = check_output_space("mask_convolution", output_space, BinaryMask, "masks")
        channels = [128, 128] if channels is None else channels
        hidden_dims = [384, 192] if hidden_dims is None else hidden_dims
        check_convolutions(key, [input_dim, *channels], kernel_size)
        for size in hidden_dims:
            check_range("loss_net.energies: each of hidden_dims of 'mask_convolution'", size, least=1)
        # The encoder's convolution of the image has the bias.
        self._first = torch.nn.Conv2d(1, input_dim, kernel_size, padding=kernel_size // 2, bias=False)
        sizes = [input_dim, *channels]
        self._convolutions = torch.nn.ModuleList(
            convolution(*pair, kernel_size, stride=2) for pair in zip(sizes, sizes[1:])
        )
        height, width = masks.height, masks.width
        for _ in channels:
            height, width = -(-height // 2), -(-width // 2)
        sizes = [sizes[-1] * height * width, *hidden_dims]
        self._layers = torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in zip(sizes, sizes[1:]))
        self._last = torch.nn.Linear(sizes[-1], 1)
        self._dropout = torch.nn.Dropout(dropout)
        self._activation = activation or Activation.by_name("swish")()

    def condition(self, hidden: torch.Tensor, mask=None, inputs=None) -> torch.Tensor:
        # shape: (batch, 1, channels, height, width), with the memory layout of the mask's convolution
        return hidden.permute(0, 3, 1, 2).contiguous().unsqueeze(1)

    def forward(
        self, condition: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        samples = outputs.shape[1]
        # Gold may be integer.
        masks = outputs.flatten(0, 1).unsqueeze(1).to(self._first.weight.dtype)
        # shape: (batch * samples, channels, height, width)
        hidden = self._activation((self._first(masks).unflatten(0, (-1, samples)) + condition).flatten(0, 1))
        for layer in self._convolutions:
            hidden = self._activation(layer(hidden))
        hidden = hidden.flatten(1)
        for layer in self._layers:
            hidden = self._activation(layer(self._dropped(hidden, samples)))
        return in_full_precision(self._last, hidden).squeeze(1).unflatten(0, (-1, samples))

    def _dropped(self, hidden: torch.Tensor, samples: int) -> torch.Tensor:
        """`hidden (batch * samples, size)` with dropout, the same for all samples of an instance."""
        if not self.training or self._dropout.p == 0:
            return hidden
        kept = self._dropout(hidden.new_ones(hidden.shape[0] // samples, 1, hidden.shape[1]))
        return (hidden.unflatten(0, (-1, samples)) * kept).flatten(0, 1)
