"""Files of word vectors and of data that cannot be used (`seal/allennlp/unusable_files.py`)."""

import gzip
import io
import lzma
import zipfile

import h5py
import numpy
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.dataset_readers.dataset_reader import DistributedInfo
from allennlp.models import Model, archival
from allennlp.modules.token_embedders import Embedding
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile
from allennlp.nn import util

import seal  # noqa: F401  (puts the checks in place)


def test_an_empty_file_of_vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("")
    with pytest.raises(ConfigurationError, match=f"^{path}: the file of word vectors is empty$"):
        EmbeddingsTextFile(str(path))
    path.write_text("a 1.0\n")
    assert EmbeddingsTextFile(str(path)).read() == "a 1.0\n"


def test_vectors_that_are_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vocab = Vocabulary(counter={"tokens": {"rose": 1}})
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
        for read in (EmbeddingsTextFile, lambda uri: Embedding(embedding_dim=2, pretrained_file=uri, vocab=vocab)):
            with pytest.raises(ConfigurationError) as error:
                read(path)
            assert str(error.value.message).startswith(f"{shown}: {message}")


def test_vectors_of_another_size(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("rose 1 0 2\nsalt 0 1 2\n")
    vocab = Vocabulary(counter={"tokens": {"rose": 1}})
    with pytest.raises(ConfigurationError, match=f"^{path}: its vectors have 3 numbers, and embedding_dim is 4; set"):
        Embedding(embedding_dim=4, pretrained_file=str(path), vocab=vocab)
    weight = Embedding(embedding_dim=3, pretrained_file=str(path), vocab=vocab).weight
    assert weight[vocab.get_token_index("rose")].tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "content, told",
    [
        (b"rose\t1\t0\nsalt\t0\t1\n", ": its first lines have no blank; put one between a word and its numbers, and b"),
        (b"rose 1 0\nsalt x 1\n", ":2: 'x' is not a finite number in single precision"),
        (b"rose 1 0\nsalt nan 1\n", ":2: 'nan' is not a finite number in single precision"),
        (b"99999999999999999999 2\nrose 1 0\n", ": this is no file of word vectors.* cannot fit 'int'"),
        (b"ros\xe9 1 0\nsalt 0 1\n", ": byte 0xe9 is not UTF-8; convert the file$"),
        (b"rose 1 0\n" * 2000 + b"s\xe9l 0 1\n", ": byte 0xe9 is not UTF-8; convert the file$"),
    ],
)
def test_files_that_have_no_vectors(tmp_path, content, told):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    vocab = Vocabulary(counter={"tokens": {"rose": 1, "salt": 1}})
    with pytest.raises(ConfigurationError, match=f"^{path}{told}"):
        Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab)


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
    vocab = Vocabulary(counter={"tokens": {"rose": 1, "salt": 1}})
    for bad in (good[: len(good) // 2], good[:8] + b"\xff" * 4 + good[12:], b"30\n" + good):
        path.write_bytes(bad)
        try:
            Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab)
        except ConfigurationError as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
        else:
            assert name == "v.zip"  # Its reader finds the archive after other bytes.
    path.write_bytes(good)
    assert Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab).weight.shape == (4, 2)


@pytest.mark.parametrize("name, pack", [("v.txt.gz", gzip.compress), ("v.xz", lzma.compress), ("v.zip", in_zip)])
def test_vectors_that_unpack_to_too_much(tmp_path, monkeypatch, name, pack):
    path = tmp_path / name
    vocab = Vocabulary(counter={"tokens": {"rose": 1}})
    for content in (b"rose 1 0\n" * 2**18, b"rose" * 2**20):
        path.write_bytes(pack(content))
        monkeypatch.setenv("SEAL_MAX_UNPACKED", "1")
        with pytest.raises(ConfigurationError, match=f"^{path}: it unpacks to more than 1 MiB; if it is yours, set"):
            Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab)
    path.write_bytes(pack(b"rose 1 0\n" * 2**18))
    monkeypatch.setenv("SEAL_MAX_UNPACKED", "3")
    assert Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab).weight.shape == (3, 2)


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"\xef\xbb\xbfrose 1 0\nsalt 0 1\n")
    vocab = Vocabulary(counter={"tokens": {"rose": 1}})
    weight = Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab).weight
    assert weight[vocab.get_token_index("rose")].tolist() == [1.0, 0.0]


def test_data_without_instances():
    class Nothing(DatasetReader):
        def _read(self, file_path):
            yield from ()

    with pytest.raises(ConfigurationError, match="^nothing.tsv: no instance is read; see what the file has"):
        MultiProcessDataLoader(Nothing(), "nothing.tsv", batch_size=1)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e39"])
@pytest.mark.parametrize("head", ["", "3 2\n"])
def test_vectors_that_are_not_finite(tmp_path, value, head):
    path = tmp_path / "vectors.txt"
    path.write_text(f"{head}rose 1 0\nunused nan nan\nsalt 0 {value}\n")
    vocab = Vocabulary(counter={"tokens": {"rose": 1, "salt": 1}})
    place = f"{path}:{4 if head else 3}"
    with pytest.raises(ConfigurationError, match=f"^{place}: '{value}' is not a finite number in single precision"):
        Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab)
    # Of a word that the data lack, a vector is not read.
    vocab = Vocabulary(counter={"tokens": {"rose": 1}})
    assert Embedding(embedding_dim=2, pretrained_file=str(path), vocab=vocab).weight.isfinite().all()


def test_fewer_instances_than_processes():
    class Nothing(DatasetReader):
        def _read(self, file_path):
            yield from ()

    for rank, told in ((0, "no instance is read"), (2, "process 3 of 4 gets no instance, as there are fewer")):
        reader = Nothing()
        reader._set_distributed_info(DistributedInfo(4, rank))
        with pytest.raises(ConfigurationError, match=f"^dev.tsv: {told}"):
            list(MultiProcessDataLoader(reader, "dev.tsv", batch_size=1).iter_instances())


def test_what_is_no_file_of_weights(tmp_path):
    for content in (b"", b"text", bytes(100)):
        (tmp_path / "weights.th").write_bytes(content)
        with pytest.raises(ConfigurationError, match=f"^{tmp_path}/weights.th is not a file of weights$"):
            util.read_state_dict(tmp_path / "weights.th")
    with pytest.raises(FileNotFoundError):
        util.read_state_dict(tmp_path / "none.th")


@pytest.mark.parametrize(
    "error, told",
    [
        ("Missing keys: ['a', 'b']\n\tUnexpected keys: []", '2 missing, 0 unexpected, "a" the first'),
        ("Missing keys: []\n\tUnexpected keys: ['c']", '0 missing, 1 unexpected, "c" the first'),
        ("size mismatch for a: shape 1.\n\tsize mismatch for b: shape 2.", "size mismatch for a: shape 1"),
    ],
)
def test_weights_that_do_not_fit(monkeypatch, error, told):
    def load(*_, **__):
        raise RuntimeError(f"Error(s) in loading state_dict for Tagger:\n\t{error}")

    monkeypatch.setattr(Model, "load", load)
    with pytest.raises(ConfigurationError) as raised:
        archival._load_model(Params({}), "weights.th", "run", -1)
    assert str(raised.value) == f"the weights do not fit the config (see --overrides and --weights-file): {told}"
