from collections.abc import Iterable
from typing import Optional, Union

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import MetadataField, TensorField

from seal.common.setting_checks import check_that
from seal.tasks.base.tensor_loader import TensorTable
from seal.tasks.segmentation.images import MaskedImages, read_masked_images


@DatasetReader.register("seal_segmentation")
class SegmentationReader(DatasetReader):
    """
    Reads images with a binary mask each, all of one size: an `.npz` with `images` (`uint8`, `(N, H, W, 3)`) and
    `masks` (0 or 1, `(N, H, W)`), or a folder with the folders `images` and `masks` (see `read_masked_images`). The
    data loader `tensors` gets the data as a table; AllenNLP's own loaders work too, with one instance an image.

    Training images are few and each is shown many times. With `crop` and `mirror` it is a different part of it each
    time (the protocol of Gygli et al. 2017, which SEAL follows). Both need the loader `tensors`, and draw from torch's
    generator. They are for training data only: leave them out of `validation_dataset_reader`.

    # Parameters

    crop : `int` or `list[int]`, optional (default = `None`)
        The height and width, in pixels, of a part at a random place of each image; one number for a square.
    mirror : `bool`, optional (default = `False`)
        Whether to exchange left and right, with probability 1/2.
    resize : `int` or `list[int]`, optional (default = `None`)
        The height and width to which everything is resized first, which images of several sizes need.
    max_instances, serialization_dir :
        As for `DatasetReader`.

    # Raises

    `ConfigurationError` at everything that is wrong in the files, or if a size is below 1 or above the images'.
    """

    def __init__(
        self,
        crop: Union[int, list[int], None] = None,
        mirror: bool = False,
        resize: Union[int, list[int], None] = None,
        max_instances: Optional[int] = None,
        serialization_dir: Optional[str] = None,
    ) -> None:
        # Spelt out: with `**kwargs` a misspelt config key would end in a TypeError, not in a message that names it.
        super().__init__(max_instances=max_instances, serialization_dir=serialization_dir)
        self._crop = _sides("crop", crop)
        self._mirror = mirror
        #: The size to which callers resize images that are not from a file.
        self.resize = _sides("resize", resize)

    def read_table(self, path: str) -> "ImageTable":
        """The images for the loader `tensors`."""
        return ImageTable(read_masked_images(str(path), self.resize), self._crop, self._mirror)

    def _read(self, path: str) -> Iterable[Instance]:
        if self._crop is not None or self._mirror:
            raise ConfigurationError(
                "dataset_reader: crop and mirror need data_loader.type 'tensors', which draws them anew in each pass; "
                "only the reader of training data may have them."
            )
        data = read_masked_images(str(path), self.resize)
        for row in range(len(data.source)):
            yield self._instance(data.images[row], data.masks[row], data.source[row])

    def text_to_instance(self, image: numpy.ndarray) -> Instance:
        """
        # Parameters

        image : `numpy.ndarray`, `(H, W, 3)`, `uint8`
        """
        return self._instance(image)

    def _instance(
        self, image: numpy.ndarray, mask: Optional[numpy.ndarray] = None, source: Optional[str] = None
    ) -> Instance:
        fields: dict[str, Field] = {"image": TensorField(as_input(torch.from_numpy(image.copy())))}
        if mask is not None:
            fields["mask"] = TensorField(torch.from_numpy(mask.copy()).float())
        if source is not None:
            fields["metadata"] = MetadataField({"source": source})
        return Instance(fields)


class ImageTable(TensorTable):
    """
    A split of images with their masks, whole or, drawn anew in each pass, cropped and mirrored.

    # Parameters

    data : `MaskedImages`
    crop : `tuple[int, int]`, optional (default = `None`)
        Height and width.
    mirror : `bool`, optional (default = `False`)

    # Raises

    `ConfigurationError` if the images are smaller than the crop.
    """

    def __init__(self, data: MaskedImages, crop: Optional[tuple[int, int]] = None, mirror: bool = False) -> None:
        super().__init__({"image": data.images, "mask": data.masks}, {}, data.source)
        height, width = data.masks.shape[1:]
        if crop is not None and (crop[0] > height or crop[1] > width):
            raise ConfigurationError(
                f"dataset_reader.crop: {crop[0]} x {crop[1]} of images of {height} x {width}, height by width, in "
                f"{data.source[0].rpartition(':')[0] or data.source[0]}."
            )
        self._crop, self._mirror = crop, mirror
        # For batches before the first pass. The generator is restored: reading data before a model is built must not
        # change the model's random start.
        with torch.random.fork_rng(devices=[]):
            self.start_pass()

    def start_pass(self) -> None:
        """
        Draws the random numbers of all images at once. A run that was killed in the middle of a pass and is recovered
        draws them again at the start of the pass; drawn batch by batch, they would differ, because nets with dropout
        had drawn in between.
        """
        images, height, width = self._matrices["mask"].shape
        if self._crop is not None:
            sides = zip((height, width), self._crop)
            self._corners = [torch.randint(side - part + 1, (images,)) for side, part in sides]
        if self._mirror:
            self._turned = torch.rand(images) < 0.5

    def check_for_scores(self) -> None:
        """
        # Raises

        `ConfigurationError` if the images are cropped or mirrored.
        """
        if self._crop is not None or self._mirror:
            raise ConfigurationError(
                "validation_dataset_reader: with crop or mirror each pass would be scored on other parts of the "
                "images; leave them out, or, where there is only a dataset_reader, add a validation_dataset_reader "
                "without them."
            )

    def batch(self, rows: numpy.ndarray) -> dict[str, torch.Tensor]:
        batch = super().batch(rows)
        image, mask = as_input(batch["image"]), batch["mask"]
        if self._crop is not None:
            tops, lefts = (places[rows] for places in self._corners)
            height, width = self._crop
            image, mask = (_cropped(each, tops, lefts, height, width) for each in (image, mask.unsqueeze(1)))
            mask = mask.squeeze(1)
        if self._mirror:
            turned = self._turned[rows]
            image = torch.where(turned.view(-1, 1, 1, 1), image.flip(-1), image)
            mask = torch.where(turned.view(-1, 1, 1), mask.flip(-1), mask)
        return {"image": image, "mask": mask}


def as_input(image: torch.Tensor) -> torch.Tensor:
    """
    Converts pixels `(..., H, W, 3)`, 0 to 255, to input of nets `(..., 3, H, W)`, with mean about 0 and deviation about
    1.
    """
    return ((image.float() / 255 - 0.5) / 0.25).movedim(-1, -3).contiguous()


def as_pixels(image: torch.Tensor) -> torch.Tensor:
    """The inverse of `as_input`: pixels `(..., H, W, 3)`, `uint8`."""
    return ((image.movedim(-3, -1) * 0.25 + 0.5) * 255).round().to(torch.uint8)


def _cropped(images: torch.Tensor, tops: torch.Tensor, lefts: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """One part of each image of `(batch, channels, H, W)`: `(batch, channels, height, width)`."""
    rows = (tops.unsqueeze(1) + torch.arange(height)).view(-1, 1, height, 1)
    columns = (lefts.unsqueeze(1) + torch.arange(width)).view(-1, 1, 1, width)
    batch, channels = images.shape[:2]
    return images[torch.arange(batch).view(-1, 1, 1, 1), torch.arange(channels).view(1, -1, 1, 1), rows, columns]


def _sides(name: str, size: Union[int, list[int], None]) -> Optional[tuple[int, int]]:
    if size is None:
        return None
    sides = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    # `True` is an `int`, but no size.
    are_sides = len(sides) == 2 and all(type(side) is int and side >= 1 for side in sides)
    check_that(are_sides, f"dataset_reader.{name}", "one number, or height and width, of at least 1", size)
    return sides[0], sides[1]
