"""Files of word vectors that cannot be used: before anything is made, where one is read, and after that."""

import gzip
import io
import lzma
import zipfile

import h5py
import numpy
import pytest
from allennlp.data import Vocabulary
from allennlp.modules.token_embedders import Embedding

from seal.cli.error_places import places_named
from seal.cli.word_vectors import check_read_vectors, check_vectors
from seal.registry import ConfigurationError


def use(uri, dim=2, words=("rose", "salt")):
    """What `train` does with such a file."""
    vocab = Vocabulary(counter={"tokens": dict.fromkeys(words, 1)})
    check_vectors(str(uri), dim)
    with places_named():
        made = Embedding(embedding_dim=dim, pretrained_file=str(uri), vocab=vocab)
        made.vocab = vocab
        check_read_vectors(made)
    return {word: made.weight[vocab.get_token_index(word)].tolist() for word in words}


def test_what_can_be_used(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("rose 1 0 2\nsalt 0 1 2\n")
    assert use(path, 3) == {"rose": [1.0, 0.0, 2.0], "salt": [0.0, 1.0, 2.0]}
    check_vectors("https://example.org/vectors.txt", 5)


def test_vectors_that_are_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for path in ("data/vectors/glove.txt", "mine.h5", str(tmp_path / "mine.vec"), "(folder/mine.zip)#a.txt", "folder"):
        with pytest.raises(ConfigurationError) as error:
            check_vectors(path, 2)
        assert str(error.value).startswith("folder/mine.zip: " if path.startswith("(") else f"{path}: ")


@pytest.mark.parametrize(
    "content, told",
    [
        (b"", ": "),
        (b"rose 1 0 2\nsalt 0 1 2\n", ": .*3.*embedding_dim"),
        (b"rose\t1\t0\nsalt\t0\t1\n", ": "),
        (b"\xef\xbb\xbfrose 1 0\nsalt 0 1\n", ": "),
        (b"99999999999999999999 2\nrose 1 0\n", ": "),
        (b"ros\xe9 1 0\nsalt 0 1\n", ": byte 0xe9"),
        # Found where it is read.
        (b"rose 1 0\n" * 2000 + b"s\xe9l 0 1\n", ": byte 0xe9"),
        (b"2 2\nrose 1 0\nsalt x 1\n", ":3: 'x'"),
        # Found afterwards.
        *(
            (b"rose 1 0\nunused nan nan\nsalt 0 %b\n" % bad, f":3: '{bad.decode()}'")
            for bad in (b"nan", b"-inf", b"1e39")
        ),
    ],
)
def test_files_that_have_no_vectors(tmp_path, content, told):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"^{path}{told}"):
        use(path)


def test_a_vector_of_a_word_that_the_data_lack_is_not_read(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("rose 1 0\nsalt 0 nan\n")
    assert use(path, words=["rose"]) == {"rose": [1.0, 0.0]}


def in_zip(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("vectors.txt", content)
    return file.getvalue()


def in_hdf5(content):
    file = io.BytesIO()
    with h5py.File(file, "w") as archive:
        archive["embedding"] = numpy.zeros((4, 2))
    return file.getvalue()


@pytest.mark.parametrize(
    "name, pack", [("v.txt.gz", gzip.compress), ("v.xz", lzma.compress), ("v.zip", in_zip), ("v.h5", in_hdf5)]
)
def test_damaged_files_of_vectors(tmp_path, name, pack):
    """Cut short, with a byte changed, and with something before it."""
    good, path = pack(b"rose 1 0\nsalt 0 1\n"), tmp_path / name
    for bad in (good[: len(good) // 2], good[:8] + b"\xff" * 4 + good[12:], b"30\n" + good):
        path.write_bytes(bad)
        try:
            use(path)
        except ConfigurationError as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
        else:
            assert name == "v.zip"  # Its reader finds the archive after other bytes.
    path.write_bytes(good)
    assert len(use(path)) == 2
