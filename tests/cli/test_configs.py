"""How a config and its overrides are read."""

import re

import pytest

import seal.plugin  # noqa: F401 - configs find the library by its patch
from seal.cli.configs import overridden, read_config, read_overrides
from seal.registry import ConfigurationError


@pytest.mark.parametrize("text", ["[1]", "5", "null"])
def test_a_config_is_an_object(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    for read in (
        lambda: read_config(str(path)),
        lambda: read_config(str(tmp_path)),
        lambda: read_overrides(text),
        lambda: overridden({"a": {"b": 1}}, '{"a.x.y": 1}'),
    ):
        with pytest.raises(ConfigurationError, match=f"{tmp_path}: |{path}: |--overrides|a.x.y"):
            read()


def test_what_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("SEED", "7")
    path = tmp_path / "config.jsonnet"
    path.write_text("{ a: { b: 1e300 }, c: [2, 9007199254740993], seed: std.extVar('SEED') }")
    found = read_config(str(path), '{ "c.0": 3, d: 1 }')
    assert found == {"a": {"b": 1e300}, "c": [3, 9007199254740992], "seed": "7", "d": 1}
    # Jsonnet writes it with all its zeros, as a whole number that is too large for torch.
    assert type(found["a"]["b"]) is float and type(found["c"][1]) is int


def test_callbacks_that_overrides_drop(caplog):
    config = {"trainer": {"callbacks": ["tune_thresholds", {"type": "other"}], "num_epochs": 2}}
    overridden(config, '{"trainer.callbacks": [{"type": "tune_thresholds"}, "trace"]}')
    assert "'other'" in caplog.text and "tune_thresholds" not in caplog.text
    caplog.clear()
    overridden(config, '{"trainer.num_epochs": 1}')
    assert not caplog.records
    # What is no list is refused where the config is checked.
    assert overridden(config, '{"trainer.callbacks": true}')["trainer"]["callbacks"] is True


@pytest.mark.parametrize(
    "text, told",
    [
        ("{\n  a: error 'set the data path',\n}", ":2:6-31: "),
        ("{a: nothing}", ":1:5-12: "),
        ("{\n  a: ,\n}", ":2:6: "),
    ],
)
def test_what_jsonnet_refuses(tmp_path, text, told):
    path = tmp_path / "config.jsonnet"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        read_config(str(path))
    assert " ".join(str(error.value).split()).startswith(f"{path}{told}")
    with pytest.raises(ConfigurationError, match=f"^--overrides, at {re.escape(told.removeprefix(':'))}"):
        read_overrides(text)


@pytest.mark.parametrize(
    "library, call, names",
    [
        ("srl", "encoder.bilstm(hiden=3)", ["lib.encoder.bilstm", "'hiden'", '"hidden"', "word_dropout"]),
        ("srl", "experiment(metod=1)", ["lib.experiment", "'metod'", '"method"', "energies"]),
        ("tagging", "method.compound_stacked(tao=3)", ["lib.method.compound_stacked", '"tau"', "truncation"]),
        # The library makes these methods by a function without a name.
        ("multilabel", "method_for.bibtex.nce(energy_wait=3)", ["bibtex.nce", '"energy_weight"', "num_samples"]),
        ("srl", "method.nce(1, 2, 3, 4, 5, 6)", ["lib.method.nce", "too many", "through_draws"]),
        ("srl", "method.nec()", ["nec", 'did you mean "nce"']),
        ("srl", "data.smaple", ["smaple", 'did you mean "sample"']),
    ],
)
@pytest.mark.parametrize("between", ["\n", " "])
def test_a_wrong_argument_is_told_with_its_function_and_the_names_that_there_are(
    tmp_path, library, call, names, between
):
    path = tmp_path / "config.jsonnet"
    imports = f"local lib = import 'seal/{library}.libsonnet';"
    path.write_text(f"{imports}{between}{{ a: 1, b: lib.{call} }}")
    with pytest.raises(ConfigurationError) as error:
        read_config(str(path))
    told = str(error.value)
    place = "2:12" if between == "\n" else f"1:{len(imports) + 13}"
    assert told.startswith(f"{path}:{place}-") and all(name in told for name in names)


def test_a_wrong_argument_of_a_function_elsewhere_is_what_jsonnet_says(tmp_path):
    path = tmp_path / "config.jsonnet"
    path.write_text("local bilstm(a) = a;\nlocal lib = import 'seal/srl.libsonnet';\n{ b: bilstm(c=1) }")
    with pytest.raises(ConfigurationError, match="3:6-17"):
        read_config(str(path))
