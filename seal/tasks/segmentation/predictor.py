"""The predictor of foreground masks, and the image files that it writes."""

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField, TensorField
from allennlp.models import Model
from allennlp.predictors import Predictor
from PIL import Image

from seal.common.setting_checks import check_that, keys_of, whole_number
from seal.files.paths import user_path
from seal.files.records import read_json
from seal.tasks.base.fields import field_of
from seal.tasks.base.predictor import NOTHING_FOUND, LinePredictor, decodable, finite
from seal.tasks.segmentation.images import read_image, read_images, resized_image
from seal.tasks.segmentation.model import SegmentationModel
from seal.tasks.segmentation.reader import SegmentationReader, as_input, as_pixels


class Picture(NamedTuple):
    """
    An image that is to be predicted.

    # Parameters

    name : `str`
        Its name in records, from which the names of its files are made.
    pixels : `numpy.ndarray`, `(H, W, 3)`, `uint8`
        The image as it was given.
    image : `torch.Tensor`, `(3, H', W')`
        The image as the model reads it, which may be of another size.
    """

    name: str
    pixels: numpy.ndarray
    image: torch.Tensor


# The most pixels of the images that go through the model together; a single image may have more.
_MOST_PIXELS = 2**20


@Predictor.register("seal_segmentation")
class SegmentationPredictor(LinePredictor):
    """
    The foreground of images: the predictor of `seal_segmentation` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_segmentation")
    predictor.predict("horse.png")["description"]  # 27.4 % of 32 x 32 pixels, in columns 3 to 29 and rows 4 to 30
    ```

    A line of the input of `predict` is a JSON object with `image`, the path of an image file; or with `images`, the
    path of an `.npz` with the array `images`, and `row`, the image's index in it, from 0; and optionally `id`. An image
    may have any size: it is resized to `dataset_reader.resize` if that is set, else predicted in its own size, by
    parts. The line's record has

    - `id`: the line's, if it has one.
    - `image`: the file, with `:row` of an `.npz`.
    - `size`: width and height, in pixels.
    - `foreground`: its share of the pixels, in [0, 1].
    - `box`: the first and the last column and row with foreground, `[left, top, right, bottom]`, inclusive, from 0;
      `null` where there is none.
    - `description`: these in one line to read.
    - `energy`: where it was asked for, the loss-net's energy of the mask; low is good.
    - `mask_file`, `overlay_file`: where a `folder` was given, the paths of two PNGs of the image's size: the mask in
      grey, with values 0 and 255, and the image with its foreground in red. Files of an earlier run are replaced; if
      images of a run have equal names, the later ones get a number.

    # Parameters

    model : `SegmentationModel`
    dataset_reader : `SegmentationReader`
    frozen, energy :
        As for `LinePredictor`.
    folder : `str`, optional (default = `None`)
        Where masks and overlays are written; it is made where it is missing. With `None` none are written.

    # Raises

    `ConfigurationError` as for `LinePredictor`, and if an argument is out of range.
    """

    registered_name = "seal_segmentation"
    model_class = SegmentationModel
    wanted = "'image'"
    keys = ("image", "images", "row")
    # A short line may name a large image.
    lines_at_once = 1

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        folder: Optional[str] = None,
        energy: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, energy, **unknown)
        self._files = None if folder is None else MaskFiles(folder)
        self._resize = dataset_reader.resize if isinstance(dataset_reader, SegmentationReader) else None

    def is_single_input(self, given: Any) -> bool:
        one = isinstance(given, (str, bytes, dict, os.PathLike, Image.Image))
        return one or (isinstance(given, numpy.ndarray) and given.ndim < 4)

    def request(self, given: Any) -> JsonDict:
        """Turns an image into a request: a path, an array `(height, width, 3)` of bytes, or a Pillow image."""
        if isinstance(given, dict):
            return given
        return {"image": os.fspath(given) if isinstance(given, os.PathLike) else given}

    def read(self, line: str) -> JsonDict:
        return read_json(decodable(line), 'the line is not JSON, such as {"image": "FILE"}')

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """The records of a reader's instances (`--use-dataset-reader`), with masks of the size of the files' images."""
        pictures = []
        for instance in instances:
            image = field_of(instance, "image", TensorField).tensor
            is_file = "metadata" in instance.fields
            name = field_of(instance, "metadata", MetadataField).metadata["source"] if is_file else "image"
            given = not is_file or self._resize is None
            pictures.append(Picture(name, as_pixels(image).numpy() if given else _pixels(name), image))
        return self.records(pictures)

    def prepare(self, inputs: JsonDict) -> Picture:
        file, archive = inputs.get("image"), inputs.get("images")
        if (file is None) == (archive is None) or file is not None and "row" in inputs:
            raise ConfigurationError(f"the object needs 'image', or 'images' and 'row', found {keys_of(inputs)}.")
        if isinstance(file, (numpy.ndarray, Image.Image)):
            return self._picture("image", _as_image(file))
        path: Any = archive if file is None else file
        name = "images" if file is None else "image"
        check_that(isinstance(path, str) and bool(path), f"'{name}'", "the path of a file", path)
        if self._files is not None:
            self._files.check_elsewhere(path)
        if file is None:
            name, image = f"{path}:{inputs.get('row')}", Image.fromarray(_row(path, inputs.get("row")))
        else:
            name, image = path, read_image(path)
        return self._picture(name, image)

    def _picture(self, name: str, image: Image.Image) -> Picture:
        picture = Picture(
            name, numpy.array(image), as_input(torch.from_numpy(resized_image(image, self._resize).copy()))
        )
        try:
            self._model.check_size(picture.image)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}: {error}") from error
        return picture

    # Not `torch.inference_mode`, in which inference by the energy could not switch on the gradients that it needs.
    @torch.no_grad()
    def records(self, prepared: list[Picture]) -> list[JsonDict]:
        """The records of images. Those of one size go through the model together, large ones a few at a time."""
        self._set_model()
        by_size: dict[torch.Size, list[int]] = {}
        for place, picture in enumerate(prepared):
            by_size.setdefault(picture.image.shape, []).append(place)
        records: list[JsonDict] = [{} for _ in prepared]
        masks: dict[int, numpy.ndarray] = {}
        some = next(self._model.parameters())
        for places in _bounded(by_size):
            output = self._model(torch.stack([prepared[place].image for place in places]).to(some))
            searched = self._model.inference is not None
            for number, place in enumerate(places):
                if searched and not output["probabilities"][number].isfinite().all():
                    records[place] = dict(NOTHING_FOUND)
                    continue
                masks[place] = _of_size(output["probabilities"][number], prepared[place].pixels)
                records[place] = self._record(prepared[place], masks[place])
                if self._energy:
                    records[place]["energy"] = finite(float(output["energy"][number]))
        if self._files is not None:
            # In the order of the input, not of the sizes, so that equal names are numbered in that order.
            for place, mask in sorted(masks.items()):
                records[place].update(self._files.write(prepared[place].name, prepared[place].pixels, mask))
        return records

    @staticmethod
    def _record(picture: Picture, mask: numpy.ndarray) -> JsonDict:
        height, width = mask.shape
        rows, columns = numpy.flatnonzero(mask.any(axis=1)), numpy.flatnonzero(mask.any(axis=0))
        record: JsonDict = {"image": picture.name, "size": [width, height], "foreground": float(mask.mean())}
        record["box"] = None
        record["description"] = f"no foreground in {width} x {height} pixels"
        if len(rows):
            left, top, right, bottom = (int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1]))
            record["box"] = [left, top, right, bottom]
            record["description"] = (
                f"{100 * mask.mean():.1f} % of {width} x {height} pixels, in columns {left} to {right} and rows {top} "
                f"to {bottom}"
            )
        return record


def _as_image(given: Any) -> Image.Image:
    """An image given in Python, in RGB."""
    if isinstance(given, Image.Image):
        if given.mode not in ("1", "L", "P", "RGB"):
            raise ConfigurationError(f"an image of the kind '{given.mode}' (Pillow's name); convert it to RGB.")
        return given.convert("RGB")
    fits = given.dtype == numpy.uint8 and given.ndim == 3 and given.shape[2] == 3 and given.size > 0
    found = (str(given.dtype), given.shape)
    check_that(fits, "an array of an image", "uint8 of the shape (height, width, 3)", found)
    return Image.fromarray(given)


def _bounded(by_size: dict[torch.Size, list[int]]) -> Iterator[list[int]]:
    """Yields the indices of pictures of equal size in groups with a bounded number of pixels."""
    for size, places in by_size.items():
        rows = max(1, _MOST_PIXELS // (size[-1] * size[-2]))
        for start in range(0, len(places), rows):
            yield places[start : start + rows]


def _of_size(probabilities: torch.Tensor, pixels: numpy.ndarray) -> numpy.ndarray:
    """The mask, `(H, W)` booleans, resized to the original size of the image."""
    if probabilities.shape != pixels.shape[:2]:
        probabilities = torch.nn.functional.interpolate(
            probabilities[None, None], size=pixels.shape[:2], mode="bilinear", align_corners=False
        )[0, 0]
    return (probabilities >= 0.5).cpu().numpy()


def _pixels(source: str) -> numpy.ndarray:
    """The image of a source, `file` or `file:row`, in its original size."""
    file, row = file_and_row(source)
    return _row(file, int(row)) if row else numpy.array(read_image(file))


@lru_cache(maxsize=2)
def _images(path: str, changed: float) -> numpy.ndarray:
    """The images of an `.npz`, cached until the file changes, because many lines name images of the same file."""
    return read_images(path)


def _row(path: str, row: Any) -> numpy.ndarray:
    images = _images(path, os.path.getmtime(path) if os.path.exists(path) else 0.0)
    # `True` is an `int`, but not a row.
    is_row = type(row) is int and 0 <= row < len(images)
    check_that(is_row, f"{path}: 'row'", f"a number from 0 to {len(images) - 1}", row)
    return images[row]


#: The colour of the foreground in an overlay, and its share in the mixture with the image.
TINT, SHARE = numpy.array([255, 0, 80]), 0.5
#: The most bytes of an image's name in the names of its files: file systems allow 255 for a whole name.
LONGEST_NAME = 200


class MaskFiles:
    """
    Writes two PNGs for each image, of its size: the mask in grey, with values 0 and 255, and the image with its
    foreground in red. They have the name of the image, which gets a number if an image before had the same name. Files
    of an earlier run are replaced.

    # Parameters

    folder : `str`
        It is made where it is missing, when the first files are written.

    # Raises

    `ConfigurationError` if `folder` is not the path of a folder.
    """

    def __init__(self, folder: str) -> None:
        fits = isinstance(folder, str) and bool(folder) and not os.path.isfile(user_path(folder))
        check_that(fits, "folder", "the path of a folder", folder)
        self._folder = user_path(folder)
        # The names of files that have been written.
        self._written: set[str] = set()

    def check_elsewhere(self, path: str) -> None:
        """Raises a `ConfigurationError` for an image in the folder, which its own files could replace."""
        home = os.path.dirname(path) or "."
        if os.path.isdir(self._folder) and os.path.exists(home) and os.path.samefile(self._folder, home):
            raise ConfigurationError(
                f"{path}: it lies in the folder for masks and overlays, where files may have their names; name "
                "another folder."
            )

    def write(self, image: str, pixels: numpy.ndarray, mask: numpy.ndarray) -> JsonDict:
        """
        Writes both files, and returns their paths, as `mask_file` and `overlay_file`.

        # Parameters

        image : `str`
            The image's name: its file, with `:row` of an `.npz`.
        pixels : `numpy.ndarray`, `(H, W, 3)`, `uint8`
        mask : `numpy.ndarray`, `(H, W)`
            Boolean.
        """
        stem, row = file_and_row(image)
        row = f"_{row}" if row else ""
        name = os.path.splitext(os.path.basename(stem))[0]
        while len(os.fsencode(name)) > LONGEST_NAME:
            name = name[:-1]
        name += row
        asked, number = name, 1
        # `p.2` may be the second `p`, or an image's own name.
        while name in self._written:
            number += 1
            name = f"{asked}.{number}"
        self._written.add(name)
        os.makedirs(self._folder, exist_ok=True)
        overlay = pixels.copy()
        overlay[mask] = ((1 - SHARE) * overlay[mask] + SHARE * TINT).astype(numpy.uint8)
        mask_file, overlay_file = (os.path.join(self._folder, f"{name}.{what}.png") for what in ("mask", "overlay"))
        Image.fromarray(mask.astype(numpy.uint8) * 255).save(mask_file)
        Image.fromarray(overlay).save(overlay_file)
        return {"mask_file": mask_file, "overlay_file": overlay_file}


def file_and_row(name: str) -> tuple[str, str]:
    """Splits `file:row` into its parts; for any other name, or an existing file, the row is empty."""
    if os.path.exists(name):
        return name, ""
    file, _, row = name.rpartition(":")
    return (file, row) if file and whole_number(row) is not None else (name, "")
