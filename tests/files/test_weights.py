"""Files of weights that cannot be used."""

import io

import pytest
import torch

from seal.files.weights import check_is_whole, read_weights
from seal.registry import ConfigurationError

SEVENS = torch.tensor(7.0).numpy().tobytes() * 4


def weights(*values):
    file = io.BytesIO()
    torch.save({"a": torch.tensor(values)}, file)
    return file.getvalue()


@pytest.mark.parametrize("look", [check_is_whole, read_weights])
@pytest.mark.parametrize("content", [b"", b"text", bytes(100), weights(*[7.0] * 64).replace(SEVENS, b"x" * 16, 1)])
def test_what_is_no_file_of_weights(tmp_path, content, look):
    path = str(tmp_path / "weights.th")
    with pytest.raises(FileNotFoundError):
        look(path)
    (tmp_path / "weights.th").write_bytes(content)
    with pytest.raises(ConfigurationError, match=path):
        look(path)


def test_weights_that_are_not_finite(tmp_path):
    path = tmp_path / "weights.th"
    path.write_bytes(weights(1.0, float("nan"), float("inf")))
    with pytest.raises(ConfigurationError, match="'a'"):
        read_weights(str(path))


def test_weights_of_an_older_torch(tmp_path):
    path = tmp_path / "weights.th"
    torch.save({"a": torch.ones(2)}, path, _use_new_zipfile_serialization=False)
    assert read_weights(str(path))["a"].sum() == 2
