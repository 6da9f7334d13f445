from typing import Union

from seal.output_spaces.binary_variables import BinaryVariables
from seal.output_spaces.output_space import OutputSpace
from seal.registry import ConfigurationError


@OutputSpace.register("binary_mask")
class BinaryMask(BinaryVariables):
    """
    The foreground of an image: a pixel is 1 where it belongs to the foreground (SEAL, NeurIPS 2022, section 4.4).
    These are `BinaryVariables` in `(H, W)`; `logits` is `(batch, H, W)`.

    # Parameters

    size : `int` or `list[int]`
        The height and width of the nets' inputs, in pixels; one number for a square. Smaller than the images where
        these are cropped.

    # Raises

    `ConfigurationError` if the size is not one or two numbers of at least 1.
    """

    no_mask_because = "every pixel of an image is real"
    # One logit a pixel, for a label without a name.
    num_labels = 1
    labels: list[str] = []
    namespace = "mask_labels"

    def __init__(self, size: Union[int, list[int]]) -> None:
        super().__init__()
        sides = [size, size] if isinstance(size, int) else list(size)
        if len(sides) != 2 or min(sides) < 1:
            raise ConfigurationError(
                f"output_space.size: one number for a square, or height and width, of at least 1, not {size}."
            )
        self.height, self.width = sides
