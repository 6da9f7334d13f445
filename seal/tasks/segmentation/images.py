"""Reads images and masks from files."""

import logging
import os
import re
import zipfile
from collections.abc import Collection, Sequence
from typing import NamedTuple, Optional

import numpy
from allennlp.common.checks import ConfigurationError
from numpy.lib.format import MAGIC_PREFIX
from PIL import Image, ImageFile, ImageOps
from PIL.TiffImagePlugin import BITSPERSAMPLE

from seal.common.setting_checks import check_that
from seal.files.paths import user_path
from seal.files.text_lines import most_unpacked, refuse

logger = logging.getLogger(__name__)

#: Pillow's modes of images without transparency, with no more than eight bits a colour once they are read.
_MODES = ("1", "L", "P", "RGB")
#: The opacity of a pixel that is not transparent at all.
_OPAQUE = 255
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


class MaskedImages(NamedTuple):
    """
    Images of one size, each with its mask.

    # Parameters

    images : `numpy.ndarray`, `(N, H, W, 3)`
        Red, green and blue, 0 to 255, `uint8`.
    masks : `numpy.ndarray`, `(N, H, W)`
        0 or 1, `uint8`.
    source : `list[str]`
        The origin of each image: its file, or `file:row` of an archive, with rows from 0.
    """

    images: numpy.ndarray
    masks: numpy.ndarray
    source: list[str]


def read_masked_images(path: str, size: Optional[tuple[int, int]] = None) -> MaskedImages:
    """
    Images and their masks: of an `.npz` with `images` and `masks`; or of a folder with the folders `images` and
    `masks`, in which an image and its mask have the same name but for the ending. With `size`, a height and width, all
    are resized.

    Masks have two values, the same ones in all: 0 and 1, 0 and white, or any two greys or colours of any depth. The
    object is then the opaque one of the two, or the brighter one; a warning names it.
    """
    path = user_path(path)
    found = _read_folder(path, size) if os.path.isdir(path) else _read_archive(path, size)
    shares = found.masks.any(), found.masks.all()
    if shares in ((False, False), (True, True)):
        what = "background" if not shares[0] else "foreground"
        logger.warning("%s: its %d masks are all %s; a model has nothing to learn there", path, len(found.masks), what)
    return found


def _read_archive(path: str, size: Optional[tuple[int, int]]) -> MaskedImages:
    images, masks = read_images(path), read_array(path, "masks")
    key, one_each = f"{path}: 'masks'", f"of the shape {images.shape[:3]}, one for each image"
    check_that(masks.shape == images.shape[:3], key, one_each, masks.shape)
    are_whole = masks.dtype == bool or numpy.issubdtype(masks.dtype, numpy.integer)
    check_that(are_whole, key, "whole numbers, 0 or 1", masks.dtype)
    wrong = numpy.argwhere((masks != 0) & (masks != 1))
    values: list[int] = numpy.unique(masks).tolist() if len(wrong) else []
    if len(values) == 2:
        _tell_of_values(path, str(values[1]), str(values[0]))
        masks = masks == values[1]
    elif len(wrong):
        row, y, x = wrong[0].tolist()
        raise ConfigurationError(
            f"{path}:{row}: the mask has the value {masks[row, y, x]} at row {y}, column {x}; a mask is 0 or 1, "
            "and all masks together may have two other values."
        )
    if not len(images):
        raise ConfigurationError(f"{path}: there are no images in it.")
    masks = masks.astype(numpy.uint8)
    if size is not None and images.shape[1:3] != size:
        images = numpy.stack([_resized(Image.fromarray(image), size, smooth=True) for image in images])
        masks = numpy.stack([_resized(Image.fromarray(mask), size, smooth=False) for mask in masks])
    return MaskedImages(images, masks, [f"{path}:{row}" for row in range(len(images))])


def read_images(path: str) -> numpy.ndarray:
    """The array `images` of an `.npz`, `(N, H, W, 3)`, `uint8`."""
    images = read_array(path, "images")
    fit = images.dtype == numpy.uint8 and images.ndim == 4 and images.shape[3] == 3 and 0 not in images.shape[1:3]
    wanted = "uint8 of the shape (N, H, W, 3), H and W at least 1"
    check_that(fit, f"{path}: 'images'", wanted, (str(images.dtype), images.shape))
    return images


def read_array(path: str, name: str) -> numpy.ndarray:
    """An array of an `.npz`; pickled objects are refused."""
    path = user_path(path)
    if not os.path.isfile(path):
        raise ConfigurationError(
            f"{path}: there is no such file or folder; put the data there, or set the data path of the config to "
            "where it is."
        )
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX:
                raise ConfigurationError(f"{path}: one array (.npy); an .npz with '{name}' is needed.")
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not such an archive, or is incomplete")
            file.seek(0)
            archive = numpy.load(file, allow_pickle=False)
            if name not in archive.files:
                found = ", ".join(f"'{key}'" for key in archive.files) or "nothing"
                raise ConfigurationError(f"{path}: there is no '{name}' in it, but {found}.")
            most = most_unpacked(path)
            if any(item.filename == f"{name}.npy" and item.file_size > most for item in archive.zip.infolist()):
                raise refuse(path, most)
            array = archive[name]
            if not isinstance(array, numpy.ndarray):
                raise ValueError(f"its '{name}' is not an array")
            return array
    except ConfigurationError:
        raise
    # A damaged, encrypted or forged archive may raise any exception of numpy, zipfile and the decompressors.
    except Exception as error:
        reason = "an array of objects" if "allow_pickle" in str(error) else str(error) or type(error).__name__
        raise ConfigurationError(f"{path}: it cannot be read as an .npz of plain arrays ({reason}).") from error


def read_image(path: str) -> Image.Image:
    """An image in red, green and blue; more than eight bits a colour, transparency and several frames are errors."""
    image, largest = _open(path)
    # Transparency without an alpha channel: a transparent colour, or a palette with alpha values.
    transparent = "transparency" in image.info
    if image.mode not in _MODES or largest > 255 or transparent:
        kind = f"{image.mode}{';16' * (largest > 255)}{' with transparency' * transparent}"
        raise ConfigurationError(
            f"{path}: an image of the kind '{kind}' (Pillow's name); save it as RGB or grey, eight bits a colour and "
            "without transparency."
        )
    return image.convert("RGB")


def read_masks(files: Sequence[str]) -> list[numpy.ndarray]:
    """
    Each mask, `(H, W)`, as 0 and 1: of greys 0 and 1, or 0 and white, or otherwise by the two values that all masks
    together have.
    """
    greys = [mask for mask in map(_grey_mask, files) if mask is not None]
    if len(greys) == len(files):
        return greys
    coloured = [_colours(file) for file in files]
    opacities = {colour[3] for colours, _ in coloured for colour in colours}
    seen = [[_seen(colour, opacities) for colour in colours] for colours, _ in coloured]
    known: dict[tuple[int, ...], str] = {}
    for colours, file in zip(seen, files):
        for colour in colours:
            known.setdefault(colour, file)
        if len(known) > 2:
            first, second, third = map(_written, list(known)[:3])
            raise ConfigurationError(
                f"{file}: the mask has the value {third}, where it or other masks have {first} and {second}; two "
                "values are a mask."
            )
    low, high = min(known, key=_brightness), max(known, key=_brightness)
    if low != high and _brightness(low) == _brightness(high):
        raise ConfigurationError(
            f"{files[0]}: masks of {_written(low)} and {_written(high)}, which are equally bright, so that nothing "
            "tells which is the object; save them as grey images of 0 and 255."
        )
    if low != high and (_written(low), _written(high)) != ("0", "255"):
        _tell_of_values(os.path.dirname(files[0]), _written(high), _written(low))
    # Where all masks have the same value everywhere, it is that of an object, unless it is black.
    one = high if low != high or _brightness(high)[1] > 0 else None
    return [
        numpy.array([colour == one for colour in colours], dtype=numpy.uint8)[places]
        for colours, (_, places) in zip(seen, coloured)
    ]


def _grey_mask(path: str) -> Optional[numpy.ndarray]:
    """A mask of the greys 0 and 1, or 0 and white (255, or 15 with four bits per pixel); `None` for any other image."""
    image, largest = _open(path)
    values = numpy.asarray(image)
    if image.mode == "L" and largest != 255:
        values = numpy.rint(values * (largest / 255))
    object_ = largest if image.mode == "L" and values.max() == largest else 1
    is_mask = image.mode in ("1", "L") and numpy.isin(values, (0, object_)).all()
    return (values == object_).astype(numpy.uint8) if is_mask else None


def _colours(path: str) -> tuple[list[tuple[int, ...]], numpy.ndarray]:
    """
    The colours of an image, each as red, green, blue and opacity, and the number of each pixel's colour, `(H, W)`.
    """
    image, largest = _open(path)
    if image.mode == "L" or image.mode[0] in "IF":
        grey = numpy.asarray(image)
        if largest < 255:
            grey = numpy.rint(grey * (largest / 255))
        pixels = numpy.stack([grey, grey, grey, numpy.full_like(grey, _OPAQUE)], axis=-1)
    elif image.mode in ("1", "P", "RGB", "RGBA", "LA", "PA") and largest <= 255:
        pixels = numpy.asarray(image.convert("RGBA"))
    else:
        raise ConfigurationError(
            f"{path}: a mask of the kind '{image.mode}' (Pillow's name); save it as a grey image of 0 and 255."
        )
    found, places = numpy.unique(pixels.reshape(-1, 4), axis=0, return_inverse=True)
    return [tuple(colour) for colour in found.tolist()], places.reshape(pixels.shape[:2])


def _seen(colour: tuple[int, ...], opacities: Collection[int]) -> tuple[int, ...]:
    """A colour without what nobody sees: without its opacity if all masks have one; black if it is transparent."""
    if len(opacities) == 1:
        return (*colour[:3], _OPAQUE)
    return colour if colour[3] else (0, 0, 0, 0)


def _brightness(colour: tuple[int, ...]) -> tuple[int, float]:
    red, green, blue, opacity = colour
    return opacity, 0.299 * red + 0.587 * green + 0.114 * blue


def _written(colour: tuple[int, ...]) -> str:
    red, green, blue, opacity = colour
    if opacity == 0:
        return "transparent"
    return f"{red:g}" if red == green == blue else f"#{red:02x}{green:02x}{blue:02x}"


def _tell_of_values(where: str, one: str, zero: str) -> None:
    logger.warning("%s: masks of two values: %s is taken for 1, the object, and %s for 0", where, one, zero)


def resized_image(image: Image.Image, size: Optional[tuple[int, int]]) -> numpy.ndarray:
    """The image as `(H, W, 3)`, resized where a height and width are given."""
    return numpy.asarray(image) if size is None else _resized(image, size, smooth=True)


def _open(path: str) -> tuple[Image.Image, int]:
    """An image, read and upright, and the largest number that a colour of it can have in the file."""
    path = user_path(path)
    try:
        with Image.open(path) as image:
            # In a camera's file (MPO) the frames after the photo are only previews of it.
            if getattr(image, "is_animated", False) and image.format != "MPO":
                raise ConfigurationError(f"{path}: it has several frames or pages; save each as an image of its own.")
            largest = _largest(image)
            # Only this reads the pixels.
            image.load()
            # Turned upright: cameras write pixels as the sensor has them, and note which side is up.
            return ImageOps.exif_transpose(image), largest
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise ConfigurationError(f"{path}: the image cannot be read ({reason}).") from error


def _largest(image: ImageFile.ImageFile) -> int:
    """
    The largest number that a grey, or a red, green or blue, can have in the file of an image that is not loaded yet.
    Pillow scales it to 255 in the modes `L` and `RGB`. For other modes the result is 255.
    """
    if image.mode not in ("L", "RGB") or not image.tile:
        return 255
    if image.format == "TIFF":
        return 2 ** max(image.tag_v2.get(BITSPERSAMPLE, (8,))) - 1  # type: ignore[attr-defined]
    how = image.tile[0].args
    if image.format == "PPM" and isinstance(how, tuple):
        return int(how[1])
    # As `L;4` and `RGB;16B`.
    bits = re.search(r";(\d+)", str(how)) if image.format == "PNG" else None
    return 255 if bits is None else 2 ** int(bits[1]) - 1


def _resized(image: Image.Image, size: tuple[int, int], smooth: bool) -> numpy.ndarray:
    height, width = size
    how = Image.Resampling.BILINEAR if smooth else Image.Resampling.NEAREST
    return numpy.asarray(image.resize((width, height), how))


def _read_folder(path: str, size: Optional[tuple[int, int]]) -> MaskedImages:
    images, masks = (_files_of(os.path.join(path, name)) for name in ("images", "masks"))
    if not images:
        raise ConfigurationError(f"{os.path.join(path, 'images')}: there are no images in it.")
    for one, other, what in ((images, masks, "mask"), (masks, images, "image")):
        for stem, file in one:
            if stem not in dict(other):
                folder = os.path.join(path, f"{what}s")
                raise ConfigurationError(f"{file}: there is no {what} '{stem}' in {folder}.")
    pairs = [(file, dict(masks)[stem]) for stem, file in images]
    pixels, of_masks = [], []
    for (file, mask_file), mask in zip(pairs, read_masks([mask_file for _, mask_file in pairs])):
        image = read_image(file)
        if (image.height, image.width) != mask.shape:
            raise ConfigurationError(
                f"{mask_file}: the mask is of {mask.shape[1]} x {mask.shape[0]} pixels, and its image of "
                f"{_size_of(image)}."
            )
        if size is not None:
            mask = _resized(Image.fromarray(mask), size, smooth=False)
        pixels.append(resized_image(image, size))
        of_masks.append(mask)
        if pixels[-1].shape != pixels[0].shape:
            raise ConfigurationError(
                f"{file}: an image of {_size_of(image)} pixels after others of "
                f"{pixels[0].shape[1]} x {pixels[0].shape[0]}; set dataset_reader.resize, and "
                "validation_dataset_reader.resize, to bring all to one size."
            )
    return MaskedImages(numpy.stack(pixels), numpy.stack(of_masks), [file for file, _ in pairs])


def _files_of(folder: str) -> Sequence[tuple[str, str]]:
    """The name without its ending, and the path, of each image in a folder; sorted by name."""
    if not os.path.isdir(folder):
        raise ConfigurationError(
            f"{folder}: there is no such folder; a folder of data has the folders 'images' and 'masks'."
        )
    found: dict[str, str] = {}
    for name in sorted(os.listdir(folder)):
        stem, ending = os.path.splitext(name)
        if ending.lower() not in _ENDINGS or name.startswith("."):
            continue
        if stem in found:
            raise ConfigurationError(
                f"{os.path.join(folder, name)}: {os.path.basename(found[stem])} has the same name but for its ending."
            )
        found[stem] = os.path.join(folder, name)
    return sorted(found.items())


def _size_of(image: Image.Image) -> str:
    return f"{image.width} x {image.height}"
