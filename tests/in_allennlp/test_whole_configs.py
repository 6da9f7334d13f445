"""Checks of whole configs, called through AllenNLP's functions; `tests/user_errors` tests the sentences of commands."""

import json

import pytest
from allennlp.commands import train
from allennlp.common import params as allennlp_params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import Params
from allennlp.models import archival
from allennlp.training import util as training_util

import seal  # noqa: F401


@pytest.mark.parametrize("text", ["[1]", "5", "null"])
def test_a_config_is_an_object(tmp_path, text):
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="config.json: a config must be an object, found"):
        Params.from_file(str(tmp_path / "config.json"))
    with pytest.raises(ConfigurationError, match="--overrides must be an object, found"):
        allennlp_params.parse_overrides(text)
    with pytest.raises(ConfigurationError, match="a config is a file, and this is a folder"):
        Params.from_file(str(tmp_path))


@pytest.mark.parametrize(
    "text, meant",
    [
        ("trainer.num_epochs=5", '{"trainer.num_epochs": 5}'),
        ("trainer.num_epochs=5, model.type = seal_srl", '{"trainer.num_epochs": 5, "model.type": "seal_srl"}'),
        ("trainer.phases=[{}]", '{"trainer.phases": [{}]}'),
        ("{'a.b': True, 'c': None}", '{"a.b": true, "c": null}'),
        ("{trainer.num_epochs: 5}", '{"trainer.num_epochs": 5}'),
    ],
)
def test_overrides_in_another_form(text, meant):
    with pytest.raises(ConfigurationError) as error:
        allennlp_params.parse_overrides(text)
    assert str(error.value) == f"--overrides must be a JSON object, '{meant}', found {text}"


def test_overrides_that_mean_nothing():
    such_as = "such as '{\"trainer.num_epochs\": 5}'"
    with pytest.raises(ConfigurationError, match=f"--overrides must be a JSON object, {such_as}, found x$"):
        allennlp_params.parse_overrides("x")
    assert allennlp_params.parse_overrides("{a: 1, 'b': 2}") == {"a": 1, "b": 2}


def test_callbacks_that_overrides_drop(caplog):
    config = {"trainer": {"callbacks": ["tune_thresholds", {"type": "other"}]}}
    allennlp_params.with_overrides(config, {"trainer.callbacks": [{"type": "tune_thresholds"}, "trace"]})
    (told,) = [record.message for record in caplog.records]
    assert told.startswith("--overrides: its trainer.callbacks replaces the config's list and drops 'other'; name it")
    caplog.clear()
    allennlp_params.with_overrides(config, {"trainer.num_epochs": 1})
    assert not caplog.records


def test_test_data_that_are_to_be_evaluated_have_a_path(tmp_path):
    for more in ({}, {"test_data_path": None}):
        with pytest.raises(ConfigurationError, match='"evaluate_on_test" needs a "test_data_path"'):
            train.train_model(Params({"evaluate_on_test": True, **more}), str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "change, told",
    [
        ({"a": {"b": 2}}, 'it differs in "a.b"'),
        ({"x": 1}, 'it differs in "x"'),
        ({"a": {}, "w": 1, "x": 1, "y": 1}, 'it differs in "a.b", "w", "x" and 1 more'),
    ],
)
def test_the_config_of_a_run_that_goes_on(tmp_path, change, told):
    config = {"a": {"b": 1}, "c": 3}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"--recover: the config must be that of the run, .*{told}$"):
        training_util.create_serialization_dir(Params({**config, **change}), str(tmp_path), True, False)
    training_util.create_serialization_dir(Params(config), str(tmp_path), True, False)


def test_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "out.log").write_text("")
    with pytest.raises(ConfigurationError, match="the folder is not empty; --force empties it .*, --recover"):
        training_util.create_serialization_dir(Params({}), str(tmp_path), False, False)
    training_util.create_serialization_dir(Params({}), str(tmp_path), False, True)
    assert [path.name for path in tmp_path.iterdir()] == ["environment.json"]


@pytest.mark.parametrize(
    "text, told",
    [
        ("{a: error 'no data'}", "PATH:1:5-20: no data"),
        ("{a: nothing}", "PATH:1:5-12: Unknown variable: nothing"),
    ],
)
def test_what_jsonnet_refuses(tmp_path, text, told):
    path = tmp_path / "config.jsonnet"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        Params.from_file(str(path))
    assert " ".join(str(error.value).split()).startswith(told.replace("PATH", str(path)))
    with pytest.raises(ConfigurationError, match=f"^{told.replace('PATH:', '--overrides, at ')}"):
        allennlp_params.parse_overrides(text)


def test_overrides_of_what_is_not_there():
    with pytest.raises(ConfigurationError, match=r"unused keys: \['a.x.y'\]"):
        allennlp_params.with_overrides({"a": {"b": 1}}, {"a.x.y": 1})


def test_a_trained_model_without_its_type(tmp_path):
    (tmp_path / "config.json").write_text('{"model": {}}', encoding="utf-8")
    with pytest.raises(ConfigurationError, match='config key "model.type" is missing'):
        archival._load_dataset_readers(Params({"model": {}}), str(tmp_path))
