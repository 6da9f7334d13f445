"""Models by their name on a hub: which file is asked for, that it is read as an archive, and what is said otherwise."""

import json
import tarfile

import huggingface_hub
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival, load_archive
from huggingface_hub import errors
from huggingface_hub.utils import _http
from requests import ConnectionError, Response, Session

import seal.plugin  # noqa: F401
from seal.allennlp import model_names


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """A hub with one file, an archive whose config is no model; what it was asked for."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model": {"type": "evil.Model"}, "dataset_reader": {"type": "evil.Reader"}}))
    (tmp_path / "weights.th").touch()
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(config, "config.json")
        archive.add(tmp_path / "weights.th", "weights.th")
    calls = []

    def download(repo_id, filename, revision=None, **kwargs):
        calls.append((repo_id, filename, revision))
        return str(tmp_path / "model.tar.gz")

    monkeypatch.setattr(model_names, "_hub_answers", lambda: True)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *args, **kwargs: pytest.fail("all is downloaded"))
    return calls


@pytest.mark.parametrize(
    "name, asks",
    [
        ("hf://someone/roles", ("someone/roles", "model.tar.gz", None)),
        ("hf://someone/roles@v2", ("someone/roles", "model.tar.gz", "v2")),
        ("hf://someone/roles/small/other.tar.gz", ("someone/roles", "small/other.tar.gz", None)),
    ],
)
def test_the_archive_alone_is_asked_for_and_constructs_nothing_foreign(asked, name, asks):
    with pytest.raises(ConfigurationError, match="evil.Reader"):
        load_archive(name)
    assert asked == [asks]


@pytest.mark.parametrize("name", ["hf://someone", "hf://", "hf://someone/roles/weights.th"])
def test_another_name_is_told_what_names_look_like(asked, name):
    with pytest.raises(ConfigurationError, match="hf://USER/MODEL"):
        archival.cached_path(name)
    assert not asked


def of_a_response(kind):
    return kind("", response=Response())


@pytest.mark.parametrize(
    "error",
    [
        errors.LocalEntryNotFoundError("no network"),
        of_a_response(errors.RepositoryNotFoundError),
        of_a_response(errors.EntryNotFoundError),
    ],
)
def test_what_the_hub_lacks_is_told_in_one_sentence(monkeypatch, error):
    def download(*args, **kwargs):
        raise error

    monkeypatch.setattr(model_names, "_hub_answers", lambda: True)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(ConfigurationError, match="hf://someone/roles"):
        archival.cached_path("hf://someone/roles")


@pytest.mark.parametrize("offline", [True, False])
def test_without_a_network_a_sentence_says_at_once_what_to_do(monkeypatch, tmp_path, caplog, offline):
    calls = []

    def request(*args, **kwargs):
        calls.append(args)
        raise ConnectionError("no network")

    monkeypatch.setattr(Session, "send", request)
    monkeypatch.setattr(_http.time, "sleep", lambda seconds: pytest.fail("it is tried again"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
    _http.reset_sessions()
    try:
        with pytest.raises(ConfigurationError, match="hf://someone/roles"):
            archival.cached_path("hf://someone/roles", cache_dir=tmp_path)
    finally:
        _http.reset_sessions()
    assert len(calls) == 1 and not caplog.records


def test_without_a_network_a_model_of_before_is_read(monkeypatch, tmp_path):
    commit = "0123456789" * 4
    file = tmp_path / "models--someone--roles" / "snapshots" / commit / "model.tar.gz"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "models--someone--roles" / "refs").mkdir()
    (tmp_path / "models--someone--roles" / "refs" / "main").write_text(commit)
    monkeypatch.setattr(model_names, "_hub_answers", lambda: False)
    assert archival.cached_path("hf://someone/roles", cache_dir=tmp_path) == str(file)
