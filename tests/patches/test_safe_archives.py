"""Foreign archives: what they cannot do."""

import io
import json
import os
import subprocess
import sys
import tarfile
import textwrap

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival, load_archive

from seal.patches import safe_archives
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
    """The folder that temporary folders are made in."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.setattr(safe_archives.tempfile, "tempdir", str(folder))
    return folder


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
    with pytest.raises(ConfigurationError, match="model.tar.gz: it is not opened, as it would write elsewhere"):
        load_archive(path)
    assert {str(p) for p in tmp_path.rglob("*")} == before


def test_an_absolute_path_lies_inside(tmp_path, temporary):
    outside = tmp_path / "outside"
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo(str(outside)), b"x"))
    with safe_archives.extracted_archive(path) as folder:
        assert not outside.exists() and os.path.exists(os.path.join(folder, *outside.parts[1:]))
    assert not any(temporary.iterdir())


def test_a_bomb(tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(safe_archives, "MOST_BYTES", 2**20)
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo("weights.th"), bytes(2**23)))
    with pytest.raises(ConfigurationError, match="it would unpack to more than 1,048,576 bytes, from .*; this is no"):
        load_archive(path)
    assert not any(temporary.iterdir())
    # What does not shrink may be of any size.
    path = archive(tmp_path / "large.tar.gz", (tarfile.TarInfo("weights.th"), os.urandom(2**21)))
    with safe_archives.extracted_archive(path) as folder:
        assert os.path.getsize(os.path.join(folder, "weights.th")) == 2**21


@pytest.mark.parametrize("text", ["{ model: {} }", "import '/etc/passwd'", "[i for i in std.range(1, 9)]", "[" * 10**5])
def test_a_config_that_is_not_json_is_not_evaluated(tmp_path, temporary, text):
    path = archive(tmp_path / "model.tar.gz", config_text=text)
    with pytest.raises(ConfigurationError, match="its config is not plain JSON"):
        load_archive(path)
    assert not any(temporary.iterdir())


def test_a_config_of_a_hundred_megabytes(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_archives, "MOST_CONFIG", 100)
    path = archive(tmp_path / "model.tar.gz", config_text=json.dumps(list(range(100))))
    with pytest.raises(ConfigurationError, match="its config has 390 bytes; this is no model"):
        load_archive(path)


def changed(trained, path, key, value):
    """The archive of the run, with another config."""
    settings = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    tree = settings
    *parents, last = key.split(".")
    for name in parents:
        tree = tree[name]
    tree[last] = value
    with tarfile.open(trained / "model.tar.gz") as old, tarfile.open(path, "w:gz") as new:
        for member in old.getmembers():
            content = old.extractfile(member).read() if member.isfile() else b""
            if member.name == "config.json":
                content = json.dumps(settings).encode()
                member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    return str(path)


def test_an_archive_of_a_run_opens(trained):
    assert type(load_archive(str(trained / "model.tar.gz")).model).__name__ == "SrlModel"


@pytest.mark.parametrize("key", ["model.type", "dataset_reader.type", "model.output_space"])
def test_a_class_of_a_package_that_is_not_loaded(trained, tmp_path, monkeypatch, key):
    (tmp_path / "evil_package.py").write_text("open('ran', 'w').close()\nclass Evil: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = changed(trained, tmp_path / "model.tar.gz", key, "evil_package.Evil")
    with pytest.raises(ConfigurationError, match="the class evil_package.Evil, .*add --include-package evil_package"):
        load_archive(path)
    assert not (tmp_path / "ran").exists()


def test_what_is_loaded_but_no_class_of_its_kind(trained, tmp_path):
    settings = {"type": "subprocess.Popen", "args": "true"}
    path = changed(trained, tmp_path / "model.tar.gz", "model.output_space", settings)
    with pytest.raises(ConfigurationError, match="names subprocess.Popen as a OutputSpace, which it is not"):
        load_archive(path)


def test_a_class_path_of_a_package_that_is_loaded(trained, tmp_path):
    name = "seal.output_spaces.TagSequence"
    path = changed(trained, tmp_path / "model.tar.gz", "model.output_space.type", name)
    assert type(load_archive(path).model.output_space).__name__ == "TagSequence"


def test_a_users_own_config_may_name_classes(tmp_path):
    """Also in the folder of a run, which is not an archive."""
    built = config(method="cross_entropy", model__output_space__type="seal.output_spaces.TagSequence")
    assert type(build(built, tmp_path).model.output_space).__name__ == "TagSequence"


def test_the_command_tells_it_in_a_sentence(tmp_path):
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo("../written"), b"x"))
    command = [sys.executable, "-m", "seal", "predict", path, "-"]
    ended = subprocess.run(command, cwd=ROOT, input="", capture_output=True, text=True, timeout=300)
    assert ended.returncode != 0 and "Traceback" not in ended.stderr
    assert "model.tar.gz: it is not opened, as it would write elsewhere" in textwrap.fill(ended.stderr, 10**6)


def test_a_damaged_archive(tmp_path):
    path = archive(tmp_path / "model.tar.gz", (tarfile.TarInfo("more"), os.urandom(2000)))
    whole = open(path, "rb").read()
    for bad in (b"no archive", whole[: len(whole) // 2], whole[:30] + bytes(20) + whole[50:]):
        (tmp_path / "model.tar.gz").write_bytes(bad)
        with pytest.raises(ConfigurationError, match=f"^{path} is not a model archive"):
            load_archive(path)
