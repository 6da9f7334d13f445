"""
A path that names a part of a file: `FILE#train` and `FILE#valid`, where a data set has no validation split.
"""

from typing import Optional, Tuple

from allennlp.common.checks import ConfigurationError

PARTS = ("train", "valid")


def split_off_part(path: str) -> Tuple[str, Optional[str]]:
    """
    The file and its part; `None` where the whole file is meant.

    # Raises

    `ConfigurationError` where the part is another.
    """
    file, mark, part = path.rpartition("#")
    if not mark:
        return path, None
    if part not in PARTS:
        raise ConfigurationError(f"{path}: the part of a file after '#' is one of {', '.join(PARTS)}, not '{part}'.")
    return file, part
