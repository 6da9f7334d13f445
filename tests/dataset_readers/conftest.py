"""What the tests of readers share."""

import gzip
from collections.abc import Callable
from typing import Union

import pytest


@pytest.fixture
def write(tmp_path) -> Callable[[str, Union[str, bytes]], str]:
    """Writes a file, text packed where the name ends in `.gz` and bytes as they are, and gives its path."""

    def write_file(name: str, content: Union[str, bytes]) -> str:
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
            content = gzip.compress(content) if name.endswith(".gz") else content
        path.write_bytes(content)
        return str(path)

    return write_file
