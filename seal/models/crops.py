"""Overlapping crops of images that are larger than what a net reads."""

import torch


class CropGrid:
    """
    Cuts an image into crops at evenly spread places, and turns values for the crops back into values for the image:
    each pixel gets the mean over the crops that contain it. The first crop of a row or column begins, and the last one
    ends, at the edge of the image.

    # Parameters

    image_size, crop_size : `tuple[int, int]`
        Height and width, in pixels; the crop is no larger than the image.
    per_side : `int`
        The number of crops in a row and in a column. There are more where so few would leave pixels out, and only 1
        in a direction in which the image is no larger than the crop.
    """

    def __init__(self, image_size: tuple[int, int], crop_size: tuple[int, int], per_side: int) -> None:
        self._image_size, self._crop_size = image_size, crop_size
        rows, columns = (_places(*sides, per_side) for sides in zip(image_size, crop_size))
        self.corners: list[tuple[int, int]] = [(top, left) for top in rows for left in columns]

    def __len__(self) -> int:
        return len(self.corners)

    def cut(self, images: torch.Tensor) -> torch.Tensor:
        """Cuts `(batch, ..., H, W)` into `(batch * crops, ..., height, width)`, the crops of an image in sequence."""
        height, width = self._crop_size
        parts = [images[..., top : top + height, left : left + width] for top, left in self.corners]
        return torch.stack(parts, dim=1).flatten(0, 1)

    def mean(self, parts: torch.Tensor) -> torch.Tensor:
        """Averages values for crops, `(batch * crops, height, width)`, into values for images, `(batch, H, W)`."""
        height, width = self._crop_size
        parts = parts.unflatten(0, (-1, len(self)))
        total = parts.new_zeros(len(parts), *self._image_size)
        count = parts.new_zeros(self._image_size)
        for place, (top, left) in enumerate(self.corners):
            total[:, top : top + height, left : left + width] += parts[:, place]
            count[top : top + height, left : left + width] += 1
        return total / count


def _places(image_side: int, crop_side: int, per_side: int) -> list[int]:
    room = image_side - crop_side
    if room == 0:
        return [0]
    # At least two, because the image is larger than the crop.
    count = max(per_side, -(-image_side // crop_side))
    # The set drops duplicates: `per_side` may be larger than the number of different places.
    return sorted({round(room * place / (count - 1)) for place in range(count)})
