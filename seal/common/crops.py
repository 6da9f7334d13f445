"""Images larger than what a net reads, as overlapping parts of them."""

from typing import List, Tuple

import torch


class CropGrid:
    """
    Parts of an image at evenly spread places, and back from values for the parts to values for the image, each
    pixel's being the mean over the parts it is in. The first and the last part of a row or column end where the image
    does.

    # Parameters

    image_size, crop_size : `Tuple[int, int]`
        Height and width, in pixels; the crop is not the larger one.
    per_side : `int`
        How many parts there are in a row and in a column; more where fewer would leave pixels out, and 1 where the
        image is no larger.
    """

    def __init__(self, image_size: Tuple[int, int], crop_size: Tuple[int, int], per_side: int) -> None:
        self._image_size, self._crop_size = image_size, crop_size
        rows, columns = (_places(*sides, per_side) for sides in zip(image_size, crop_size))
        self.corners: List[Tuple[int, int]] = [(top, left) for top in rows for left in columns]

    def __len__(self) -> int:
        return len(self.corners)

    def cut(self, images: torch.Tensor) -> torch.Tensor:
        """`(batch, ..., H, W)` to `(batch * crops, ..., height, width)`, the parts of an image one after the other."""
        height, width = self._crop_size
        parts = [images[..., top : top + height, left : left + width] for top, left in self.corners]
        return torch.stack(parts, dim=1).flatten(0, 1)

    def mean(self, parts: torch.Tensor) -> torch.Tensor:
        """`(batch * crops, height, width)` to `(batch, H, W)`."""
        height, width = self._crop_size
        parts = parts.unflatten(0, (-1, len(self)))
        total = parts.new_zeros(len(parts), *self._image_size)
        count = parts.new_zeros(self._image_size)
        for place, (top, left) in enumerate(self.corners):
            total[:, top : top + height, left : left + width] += parts[:, place]
            count[top : top + height, left : left + width] += 1
        return total / count


def _places(image_side: int, crop_side: int, per_side: int) -> List[int]:
    room = image_side - crop_side
    if room == 0:
        return [0]
    # Two at least: the image is the larger one.
    count = max(per_side, -(-image_side // crop_side))
    # More places than pixels would be places twice.
    return sorted({round(room * place / (count - 1)) for place in range(count)})
