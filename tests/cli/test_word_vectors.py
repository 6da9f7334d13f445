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
    no_file = "there is no such file of word vectors"
    told = {
        "data/vectors/glove.txt": f"{no_file} in {tmp_path}, where vectors named 'glove' are looked for; put it there, "
        "or give the path of another.",
        "mine.h5": f"{no_file} in {tmp_path}; put it there",
        str(tmp_path / "mine.vec"): f"{no_file}; put it there",
        "(folder/mine.zip)#part.txt": f"{no_file} in {tmp_path}; put it there",
        "folder": "a file of word vectors is needed, and this is a folder; name a file in it.",
    }
    for path, message in told.items():
        shown = "folder/mine.zip" if path.startswith("(") else path
        with pytest.raises(ConfigurationError) as error:
            check_vectors(path, 2)
        assert str(error.value).startswith(f"{shown}: {message}")


@pytest.mark.parametrize(
    "content, told",
    [
        (b"", ": the file of word vectors is empty$"),
        (b"rose 1 0 2\nsalt 0 1 2\n", ": its vectors have 3 numbers, and embedding_dim is 2; set it .* to 3"),
        (b"rose\t1\t0\nsalt\t0\t1\n", ": its first lines have no blank; put one between a word and its numbers, and b"),
        (b"\xef\xbb\xbfrose 1 0\nsalt 0 1\n", ": it begins with a byte order mark"),
        (b"99999999999999999999 2\nrose 1 0\n", ": this is no file of word vectors"),
        (b"ros\xe9 1 0\nsalt 0 1\n", ": byte 0xe9 is not UTF-8; convert the file$"),
        # Found where it is read.
        (b"rose 1 0\n" * 2000 + b"s\xe9l 0 1\n", ": byte 0xe9 is not UTF-8; convert the file$"),
        (b"rose 1 0\nsalt x 1\n", ":2: 'x' is not a finite number in single precision"),
        (b"2 2\nrose 1 0\nsalt x 1\n", ":3: 'x' is not a finite number in single precision"),
        # Found afterwards.
        *(
            (b"rose 1 0\nunused nan nan\nsalt 0 %b\n" % bad, f":3: '{bad.decode()}' is not a finite number in single")
            for bad in (b"nan", b"inf", b"-inf", b"1e39")
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
