"""What `seal check` finds in the data of a config, and how long it takes for it."""

import copy
import itertools
import json
import time

import pytest
from allennlp.data import DatasetReader

from seal.cli.configs import place_of
from seal.cli.data_check import _Part, _TimeIsUp, check_beginnings, check_data
from seal.cli.train import train
from seal.registry import ConfigurationError


@DatasetReader.register("endless")
class Endless(DatasetReader):
    """Gives instances of a text reader for ever."""

    def __init__(self, slow: bool = False) -> None:
        super().__init__()
        self._own, self._slow = DatasetReader.by_name("seal_text_multilabel")(), slow

    def _read(self, file_path):
        try:
            while self._slow:
                time.sleep(0.01)
        except Exception:  # As readers have it.
            pass
        return (self._own.text_to_instance("a b", ["x"]) for _ in itertools.count())

    def apply_token_indexers(self, instance):
        self._own.apply_token_indexers(instance)


def texts(path, number, wrong=None, label="x"):
    lines = [json.dumps({"text": "a b", "labels": [label]}) for _ in range(number)]
    if wrong is not None:
        lines[wrong - 1] = "{"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


@pytest.fixture
def config(tmp_path):
    return {
        "dataset_reader": {"type": "seal_text_multilabel"},
        "train_data_path": texts(tmp_path / "train.jsonl", 120),
        "validation_data_path": texts(tmp_path / "dev.jsonl", 5),
        "test_data_path": texts(tmp_path / "test.jsonl", 7),
    }


def test_all_data_are_read_where_there_is_time(config):
    before = copy.deepcopy(config)
    told = check_data(config)
    assert told == ["train: 120 instances", "validation: 5 instances", "test: 7 instances"] and config == before


@pytest.mark.parametrize(
    "key, line, name",
    [
        ("train_data_path", 119, "wrong.jsonl"),
        ("validation_data_path", 3, "wrong.jsonl"),
        ("test_data_path", 7, "wrong.jsonl"),
        # By a reader of its own.
        ("validation_dataset_reader", 1, "dev.jsonl"),
    ],
)
def test_what_a_reader_refuses_is_found(config, tmp_path, key, line, name):
    own = {"type": "seal_text_multilabel", "text_keys": ["title"]}
    config[key] = own if key.endswith("reader") else texts(tmp_path / name, 120, wrong=line)
    with pytest.raises(ConfigurationError, match=f"{name}:{line}: "):
        check_data(config)


@pytest.mark.parametrize("slow", [False, True])
def test_it_ends_in_time(config, slow):
    config["dataset_reader"] = {"type": "endless", "slow": slow}
    start = time.monotonic()
    told = check_data(config, seconds=0.3)
    assert time.monotonic() - start < 2
    if slow:
        assert told == ["train: nothing in time"]
    else:
        # The first hundred of each come before the rest of any.
        assert [one.partition(": the first ")[0] for one in told] == ["train", "validation", "test"]


def test_labels_that_the_training_data_lack_are_told(config, tmp_path, caplog):
    config["validation_data_path"] = texts(tmp_path / "dev.jsonl", 5, label="new")
    check_data(config)
    assert "1 label" not in caplog.text  # The vocabulary is made of all data.
    config["datasets_for_vocab_creation"] = ["train"]
    check_data(config)
    assert "dev.jsonl: 1 label" in caplog.text
    caplog.clear()
    config["vocabulary"] = {"tokens_to_add": {"labels": ["new"]}}
    check_data(config)
    assert "1 label" not in caplog.text


def test_another_way_to_write_spans_is_no_label_that_the_training_data_lack(config, tmp_path, caplog):
    (tmp_path / "train.tsv").write_text("Anna\tB-PER\nSmith\tI-PER\nmet\tO\n\nBob\tB-PER\n")
    (tmp_path / "dev.tsv").write_text("Anna\tI-PER\nmet\tO\nBob\tI-PER\nAnn\tB-PER\n")
    config.update(train_data_path=str(tmp_path / "train.tsv"), validation_data_path=str(tmp_path / "dev.tsv"))
    config.update(dataset_reader={"type": "seal_tagging"}, datasets_for_vocab_creation=["train"])
    check_data({**config, "test_data_path": None})
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_a_training_begins_with_the_data_that_it_reads_later(config, tmp_path, monkeypatch):
    monkeypatch.setattr("seal.cli.train.check", lambda *_: None)
    config["validation_data_path"] = texts(tmp_path / "wrong.jsonl", 120, wrong=3)
    with pytest.raises(ConfigurationError, match="wrong.jsonl:3"):
        train(config, str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()
    # What comes later is left to the training itself.
    config["validation_data_path"] = texts(tmp_path / "wrong.jsonl", 120, wrong=119)
    check_beginnings(config)


def test_a_training_file_that_takes_long_does_not_hide_mistakes_in_the_others(config, tmp_path, monkeypatch):
    read = _Part.read

    def slow(part, most, end):
        if part.name == "train":
            raise _TimeIsUp
        read(part, most, end)

    monkeypatch.setattr(_Part, "read", slow)
    config["validation_data_path"] = texts(tmp_path / "wrong.jsonl", 120, wrong=3)
    with pytest.raises(ConfigurationError, match="wrong.jsonl:3"):
        check_beginnings(config)


def test_a_path_is_named_as_the_config_file_has_it(tmp_path):
    source = tmp_path / "mine.jsonnet"
    source.write_text("f(\n  data={ train: 'a.tsv',\n    dev: 'a.tsv' },\n  x=1, 'test': \"b.tsv\",\n)")
    named = {"train_data_path": ("a.tsv", 2, "train"), "validation_data_path": ("a.tsv", 3, "dev")}
    named["test_data_path"] = ("b.tsv", 4, "test")
    for key, (path, line, name) in named.items():
        assert place_of(key, path, str(source)) == f'{source}:{line}: "{name}"'
    # Another one is from overrides, or put together.
    assert place_of("test_data_path", "c.tsv", str(source)) == 'config key "test_data_path"'
    assert place_of("test_data_path", "b.tsv", None) == 'config key "test_data_path"'
    source.write_text('{ "train_data_path": "a.tsv" }')
    assert place_of("train_data_path", "a.tsv", str(source)) == 'config key "train_data_path"'
