"""
The files that are written for images: their masks, and their overlays.
"""

import os

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from seal.common.setting_checks import whole_number
from seal.files.paths import user_path

#: The colour of the foreground in an overlay, and its share in the mixture with the image.
TINT, SHARE = numpy.array([255, 0, 80]), 0.5
#: The keyword, in the files that are written, under which the image is named that they are of.
SOURCE = "Source"
#: The most bytes of an image's name in the names of its files: file systems allow 255 for a whole name.
LONGEST_NAME = 200


class MaskFiles:
    """
    Writes two PNGs for each image, of its size: the mask in grey, with values 0 and 255, and the image with its
    foreground in red. Where the folder has files of this name, those of the same image are replaced, and those of
    another are kept: the name gets a number.

    # Parameters

    folder : `str`
        It is made where it is missing, when the first files are written.

    # Raises

    `ConfigurationError` if `folder` is not the path of a folder.
    """

    def __init__(self, folder: str) -> None:
        if not isinstance(folder, str) or not folder:
            raise ConfigurationError(f"folder must be the path of a folder, found {folder!r}.")
        folder = user_path(folder)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise ConfigurationError(f"folder: {folder} is a file.")
        self._folder = folder
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
        Writes both files under a name that no other image has in the folder; returns their paths, as `mask_file` and
        `overlay_file`.

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
        while name in self._written or any(_is_of_another(path, image) for path in self._files(name)):
            number += 1
            name = f"{asked}.{number}"
        self._written.add(name)
        os.makedirs(self._folder, exist_ok=True)
        about = PngInfo()
        about.add_text(SOURCE, _source(image))
        overlay = pixels.copy()
        overlay[mask] = ((1 - SHARE) * overlay[mask] + SHARE * TINT).astype(numpy.uint8)
        mask_file, overlay_file = self._files(name)
        Image.fromarray(mask.astype(numpy.uint8) * 255).save(mask_file, pnginfo=about)
        Image.fromarray(overlay).save(overlay_file, pnginfo=about)
        return {"mask_file": mask_file, "overlay_file": overlay_file}

    def _files(self, name: str) -> list[str]:
        return [os.path.join(self._folder, f"{name}.{what}.png") for what in ("mask", "overlay")]


def file_and_row(name: str) -> tuple[str, str]:
    """The parts of `file:row`; of another name, and of that of a file, it and an empty row."""
    if os.path.exists(name):
        return name, ""
    file, _, row = name.rpartition(":")
    return (file, row) if file and whole_number(row) is not None else (name, "")


def _source(image: str) -> str:
    """What the files of an image say about where they are from, in ASCII."""
    return image.encode("ascii", "backslashreplace").decode()


def _is_of_another(path: str, image: str) -> bool:
    """Whether a file is there, and is not what an earlier run has written for the image."""
    if not os.path.exists(path):
        return False
    try:
        with Image.open(path) as found:
            return found.info.get(SOURCE) != _source(image)
    except OSError:  # It is not an image.
        return True
