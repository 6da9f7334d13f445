"""Foreign archives: what they cannot do."""

import inspect
import io
import json
import os
import random
import resource
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import pytest
import torch
from allennlp.commands import evaluate
from allennlp.common import params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model, archival, load_archive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seal.allennlp import config_imports, safe_archives
from seal.allennlp.error_sentences import describe
from seal.allennlp.trained_models import trained_weights
from seal.cli.main import main
from seal.cli.run_folder import write_archive
from tests.training.runs import ROOT, build, config


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("trained")
    built = config(method="cross_entropy")
    trainer = build(built, folder)
    trainer.train()
    (folder / "config.json").write_text(json.dumps(built), encoding="utf-8")
    trainer.model.vocab.save_to_files(str(folder / "vocabulary"))
    archival.archive_model(str(folder))
    return folder


def archive(path, *members, config_text='{"model": {}}'):
    """An archive with a config and further members, each a `TarInfo` or that and its content."""
    with tarfile.open(path, "w:gz") as file:
        add(file, tarfile.TarInfo("config.json"), config_text.encode())
        for member in members:
            add(file, *(member if isinstance(member, tuple) else (member,)))
    return str(path)


def add(file, member, content=b""):
    member.size = member.size or len(content)
    file.addfile(member, io.BytesIO(content))


def link(name, target, kind=tarfile.SYMTYPE):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def device(kind):
    member = tarfile.TarInfo("weights.th")
    member.type = kind
    return member


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder that temporary folders are made in, of which none is left at the end of a test."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.setattr(safe_archives.tempfile, "tempdir", str(folder))
    yield folder
    assert not any(folder.iterdir())


def weights_of(path):
    """As another model takes them; its labels differ."""
    return trained_weights(path, "model.loss_net.pretrained_file", "srl_tags", [])


def refused(path, *makes, named=""):
    """Each of these, or `load_archive`, makes nothing of the archive, and names it or what is `named`."""
    for make in makes or (load_archive,):
        with pytest.raises(ConfigurationError) as error:
            make(path)
        assert (named or str(path)) in error.value.message


@pytest.mark.parametrize(
    "members",
    [
        [(tarfile.TarInfo("../../written"), b"x")],
        [(tarfile.TarInfo("vocabulary/../../../written"), b"x")],
        [link("out", "../.."), (tarfile.TarInfo("out/written"), b"x")],
        [link("out", "/tmp")],
        [link("weights.th", "../../secret", tarfile.LNKTYPE)],
        [device(tarfile.FIFOTYPE)],
        [device(tarfile.CHRTYPE)],
    ],
    ids=["parents", "parents_inside", "link_to_a_folder", "link_elsewhere", "hard_link", "pipe", "device"],
)
def test_nothing_is_written_elsewhere(tmp_path, temporary, members):
    path = archive(tmp_path / "model.tar.gz", *members)
    (tmp_path / "secret").write_text("secret")
    before = {str(p) for p in tmp_path.rglob("*")}
    refused(path)
    assert {str(p) for p in tmp_path.rglob("*")} == before


def test_an_absolute_path_lies_inside(tmp_path, temporary):
    outside = tmp_path / "outside"
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo(str(outside)), b"x"))
    with safe_archives.extracted_archive(path) as folder:
        assert not outside.exists() and os.path.exists(os.path.join(folder, *outside.parts[1:]))


def test_a_bomb(tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(safe_archives, "MOST_BYTES", 2**20)
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo("weights.th"), bytes(2**23)))
    refused(path)
    # What does not shrink may be of any size.
    path = archive(tmp_path / "large.tar.gz", (tarfile.TarInfo("weights.th"), os.urandom(2**21)))
    with safe_archives.extracted_archive(path) as folder:
        assert os.path.getsize(os.path.join(folder, "weights.th")) == 2**21


@pytest.mark.parametrize(
    "kind, records",
    [
        (tarfile.GNUTYPE_LONGNAME, b"name"),
        (tarfile.XHDTYPE, b"1048576 comment="),
        (tarfile.XHDTYPE, b"1" * 2**20),
    ],
    ids=["long_name", "pax", "pax_digits"],
)
def test_a_header_of_a_megabyte(tmp_path, temporary, kind, records):
    """Of gigabytes in an archive that is a thousand times smaller; what is read at once counts."""
    header = tarfile.TarInfo("long")
    header.type = kind
    path = archive(tmp_path / "model.tar.gz", (header, records.ljust(2**20, b"a")), tarfile.TarInfo("weights.th"))
    refused(path)


def test_many_headers(tmp_path, temporary):
    """They follow each other, as if the last one's name were replaced again and again."""

    def named(length, number):
        header = tarfile.TarInfo("long")
        header.type = tarfile.GNUTYPE_LONGNAME
        return archive(tmp_path / "model.tar.gz", *[(header, b"a" * length)] * number)

    refused(named(8000, 250))
    refused(named(100, 1500))


@pytest.mark.parametrize("number", [999, 1000])
def test_many_files(tmp_path, temporary, number):
    path = archive(tmp_path / "model.tar.gz", *[(tarfile.TarInfo(f"{n}.txt"), b"") for n in range(number)])
    if number == 999:
        with safe_archives.extracted_archive(path) as folder:
            assert len(os.listdir(folder)) == 1000
        return
    refused(path)


def test_a_link_to_a_member_that_comes_later(tmp_path, temporary):
    """For which the whole archive would be read again, for each of them."""
    first = (tarfile.TarInfo("a"), b"x" * 2000)
    path = archive(tmp_path / "model.tar.gz", first, link("b", "c", tarfile.LNKTYPE), (tarfile.TarInfo("c"), b"x"))
    refused(path)
    path = archive(tmp_path / "model.tar.gz", first, link("b", "a", tarfile.LNKTYPE), link("c", "a"))
    with safe_archives.extracted_archive(path) as folder:
        assert {len(open(os.path.join(folder, name)).read()) for name in "abc"} == {2000}


def test_a_sparse_file(tmp_path, temporary, monkeypatch):
    """It takes as much memory as it says, once it is read."""
    monkeypatch.setattr(safe_archives, "MOST_BYTES", 2**20)
    monkeypatch.setattr(safe_archives, "MOST_RATIO", 1)
    member = tarfile.TarInfo("weights.th")
    member.pax_headers = {"GNU.sparse.size": str(2**30), "GNU.sparse.map": "0,1"}
    path = archive(tmp_path / "model.tar.gz", (member, b"x"))
    refused(path)


@pytest.mark.parametrize("text", ["{ model: {} }", "import '/etc/passwd'", "[i for i in std.range(1, 9)]", "[" * 10**5])
def test_a_config_that_is_not_json_is_not_evaluated(tmp_path, temporary, text):
    path = archive(tmp_path / "model.tar.gz", config_text=text)
    refused(path)


def test_a_config_of_a_hundred_megabytes(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_archives, "MOST_CONFIG", 100)
    path = archive(tmp_path / "model.tar.gz", config_text=json.dumps(list(range(100))))
    refused(path)


def repacked(packed, path, **changes):
    """An archive with other content of some members, or without them (`None`); its own checksum is right."""
    members = contents(packed)
    for name, change in changes.items():
        members[name] = change(members[name]) if callable(change) else change
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            if content is not None:
                add(file, tarfile.TarInfo(name), content)
    return str(path)


def contents(path):
    with safe_archives.extracted_archive(str(path)) as folder:
        files = [file for file in Path(folder).rglob("*") if file.is_file()]
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def without_vocabulary(trained, path):
    names = [name for name in contents(trained / "model.tar.gz") if name.startswith("vocabulary/")]
    return repacked(trained / "model.tar.gz", path, **dict.fromkeys(names))


def changed(trained, path, key, value):
    """The archive of the run, with another config."""
    settings = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    if key.startswith("data_loader"):  # Which the other one hides.
        settings.pop("validation_data_loader")
    tree = settings
    *parents, last = key.split(".")
    for name in parents:
        tree = tree.setdefault(name, {})
    tree[last] = value
    return repacked(trained / "model.tar.gz", path, **{"config.json": json.dumps(settings).encode()})


def test_the_config_of_an_archive_is_not_evaluated(trained, tmp_path, monkeypatch):
    """Nor as JSON, for which jsonnet takes 300 times the memory."""
    evaluated = []
    evaluate_file = inspect.unwrap(params.evaluate_file)

    def remembered(name, *args, **kwargs):
        evaluated.append(name)
        return evaluate_file(name, *args, **kwargs)

    monkeypatch.setattr(params, "evaluate_file", remembered)
    config_imports.import_the_library_by_name()
    load_archive(str(trained / "model.tar.gz"))
    assert not evaluated
    load_archive(str(trained), weights_file=str(trained / "best.th"))
    assert evaluated == [str(trained / "config.json")]


@pytest.mark.parametrize(
    "key",
    [
        "model.type",
        "dataset_reader.type",
        "model.output_space",
        "evaluation.type",
        "data_loader.type",
        "validation_data_loader.type",
    ],
)
def test_a_class_of_a_package_that_is_not_loaded(trained, tmp_path, monkeypatch, capsys, key):
    (tmp_path / "evil_package.py").write_text("open('ran', 'w').close()\nclass Evil: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = changed(trained, tmp_path / "model.tar.gz", key, "evil_package.Evil")
    data = str(ROOT / "data" / "srl_sample" / "dev.gold_conll")
    with pytest.raises(ConfigurationError, match="evil_package.Evil"):
        evaluate.evaluate_from_archive(path, data)
    with pytest.raises(SystemExit):
        main(["evaluate", path, data])
    assert not (tmp_path / "ran").exists()


def test_what_is_loaded_but_no_class_of_its_kind(trained, tmp_path):
    settings = {"type": "subprocess.Popen", "args": "true"}
    path = changed(trained, tmp_path / "model.tar.gz", "model.output_space", settings)
    refused(path, named="subprocess.Popen")


def test_a_class_path_of_a_package_that_is_loaded(trained, tmp_path):
    name = "seal.output_spaces.TagSequence"
    path = changed(trained, tmp_path / "model.tar.gz", "model.output_space.type", name)
    assert type(load_archive(path).model.output_space).__name__ == "TagSequence"


def test_a_users_own_config_may_name_classes(tmp_path):
    """Also in the folder of a run, which is not an archive."""
    built = config(method="cross_entropy", model__output_space__type="seal.output_spaces.TagSequence")
    assert type(build(built, tmp_path).model.output_space).__name__ == "TagSequence"


def test_a_damaged_archive(tmp_path):
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo("more"), os.urandom(2000)))
    whole = open(path, "rb").read()
    for bad in (b"no archive", whole[: len(whole) // 2], whole[:30] + bytes(20) + whole[50:]):
        (tmp_path / "model.tar.gz").write_bytes(bad)
        refused(path)


def flipped(whole, place, bit):
    data = bytearray(whole)
    data[place] ^= 1 << bit
    return bytes(data)


@pytest.fixture(scope="module")
def packed(trained, tmp_path_factory):
    """The run's archive as `train` writes it, with digests."""
    folder = tmp_path_factory.mktemp("packed") / "run"
    shutil.copytree(trained, folder, ignore=shutil.ignore_patterns("*.gz", ".lock"))
    write_archive(str(folder), None)
    return folder / "model.tar.gz"


def test_every_byte_counts(tmp_path, temporary):
    """
    But for those of gzip's header that say when and where, the bits that fill the last byte before the trailer, and
    those that say the same in other words, as which of several runs of zeros is repeated.
    """
    path = tmp_path / "model.tar.gz"
    archive(path, (tarfile.TarInfo("weights.th"), random.Random(3).randbytes(600)))
    whole = path.read_bytes()
    parts, same = contents(path), []
    for place in range(len(whole)):
        path.write_bytes(flipped(whole, place, place % 8))
        try:
            assert contents(path) == parts
            same.append(place)
        except ConfigurationError as error:
            assert str(path) in str(error)
    header = whole.index(b"\0", 10)
    assert len([place for place in same if place > header]) < len(whole) // 20 and max(same) < len(whole) - 8
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path, contents)
    path.write_bytes(whole + b"more")
    refused(path, contents)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_other_model_is_made_of_a_flipped_bit(tmp_path, packed, data):
    whole = packed.read_bytes()
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    path = tmp_path / "model.tar.gz"
    path.write_bytes(flipped(whole, bit // 8, bit % 8))
    for make in (load_archive, Model.from_archive, Vocabulary.from_files, weights_of):
        try:
            make(str(path))
            assert contents(path) == contents(packed)
        except ConfigurationError as error:
            assert str(path) in str(error) and tempfile.gettempdir() + "/tmp" not in str(error)


def test_a_repacked_archive_is_checked_by_its_digests(packed, tmp_path):
    found = contents(packed)
    listed = [line.split("  ")[1] for line in found["SHA256SUMS"].decode().splitlines()]
    words = [name for name in found if name.startswith("vocabulary/") and not name.endswith(".lock")]
    assert listed == sorted([*words, "config.json", "weights.th"])
    assert not (packed.parent / "SHA256SUMS").exists()
    # What sha256sum says of it.
    with safe_archives.extracted_archive(str(packed)) as folder:
        subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)
    for name in listed:
        path = repacked(packed, tmp_path / "model.tar.gz", **{name: lambda one: flipped(one, len(one) // 2, 0)})
        refused(path, named=f"{path}: {name}")
        path = repacked(packed, tmp_path / "model.tar.gz", **{name: None})
        refused(path, named=f"{path}: {name}")
    for text in (b"", b"\xff", b"nothing\n"):
        path = repacked(packed, tmp_path / "model.tar.gz", SHA256SUMS=text)
        refused(path)
    assert Vocabulary.from_files(str(packed)).get_vocab_size("srl_tags") > 2
    # Who has changed it on purpose.
    changed_on_purpose = repacked(packed, tmp_path / "model.tar.gz", SHA256SUMS=None)
    assert type(load_archive(changed_on_purpose).model).__name__ == "SrlModel"


@pytest.mark.parametrize("name", ["config.json", "weights.th", "vocabulary/tokens.txt", "meta.json"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00", b"[1, 2"], ids=["absent", "empty", "bytes", "text"])
def test_a_sentence_names_the_archive_not_a_temporary_folder(trained, tmp_path, name, content):
    path = repacked(trained / "model.tar.gz", tmp_path / "model.tar.gz", **{name: content})
    if name == "vocabulary/tokens.txt":
        path = repacked(path, tmp_path / "none.tar.gz", **{"vocabulary/non_padded_namespaces.txt": content})
    for make in (load_archive, weights_of):
        try:
            make(path)
        except Exception as error:
            told = describe(error)
            assert told is not None and path in told and str(tempfile.gettempdir()) + "/tmp" not in told, repr(error)
        else:
            assert (name, content) == ("meta.json", None)


def test_an_archive_without_a_vocabulary(trained, tmp_path):
    path = without_vocabulary(trained, tmp_path / "model.tar.gz")
    refused(path, load_archive, weights_of)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers_are_refused(trained, tmp_path, value):
    weights = torch.load(trained / "best.th")
    name = next(name for name, tensor in weights.items() if tensor.is_floating_point() and tensor.numel() > 3)
    weights[name].view(-1)[2] = value
    buffer = io.BytesIO()
    torch.save(weights, buffer)
    path = repacked(trained / "model.tar.gz", tmp_path / "model.tar.gz", **{"weights.th": buffer.getvalue()})
    (tmp_path / "best.th").write_bytes(buffer.getvalue())
    whole = trained / "model.tar.gz"
    with_weights = partial(load_archive, weights_file=tmp_path / "best.th")
    refused(path, load_archive, weights_of)
    refused(whole, with_weights, named=str(tmp_path))


def test_weights_with_a_flipped_bit_that_have_no_digest(trained, tmp_path):
    """Of an older archive that was packed again, or of a run's folder: the file has a checksum of each tensor."""
    whole = (trained / "best.th").read_bytes()
    with zipfile.ZipFile(trained / "best.th") as file:
        first = next(part for part in file.infolist() if "/data/" in part.filename and part.file_size > 100)
        place = whole.index(file.read(first)) + 51
    (tmp_path / "best.th").write_bytes(flipped(whole, place, 6))
    torch.load(tmp_path / "best.th")  # PyTorch sees nothing.
    path = repacked(trained / "model.tar.gz", tmp_path / "model.tar.gz", **{"weights.th": flipped(whole, place, 6)})
    refused(path, load_archive, weights_of)
    with_weights = partial(load_archive, weights_file=str(tmp_path / "best.th"))
    refused(trained / "model.tar.gz", with_weights, named=str(tmp_path / "best.th"))


def test_a_vocabulary_that_is_an_archive_itself_is_not_unpacked(trained, tmp_path):
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as file:
        add(file, tarfile.TarInfo("tokens.txt"), b"a")
    path = without_vocabulary(trained, tmp_path / "one.tar.gz")
    path = repacked(path, tmp_path / "model.tar.gz", vocabulary=inner.getvalue())
    refused(path, load_archive, weights_of)


def test_no_room_to_unpack_is_one_sentence_that_says_where(tmp_path, temporary):
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo("weights.th"), b"0" * 5000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        with pytest.raises(ConfigurationError) as error, safe_archives.extracted_archive(path):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "TMPDIR" in str(error.value)
    assert os.listdir(temporary) == []
