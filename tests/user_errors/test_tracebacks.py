"""Which errors end in a sentence and which keep their traceback; what the sentence is made of."""

import json
import logging
import sys

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.allennlp.error_sentences import describe
from seal.cli.errors import TRACEBACK_VARIABLE
from seal.samplers import Sampler


class Refusing(TrainerCallback):
    """Its constructor calls a method that raises an error which has nothing to do with configs."""

    def __init__(self, serialization_dir: str, times: int) -> None:
        super().__init__(serialization_dir)
        self._parse("x" * times)

    def _parse(self, text: str) -> int:
        return int(text)


def test_a_defect_below_a_constructor_keeps_its_traceback(command, config, tmp_path):
    TrainerCallback.register("refusing", exist_ok=True)(Refusing)
    overrides = json.dumps({"trainer.callbacks": [{"type": "refusing", "times": 2}]})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert "Traceback" in told and "invalid literal for int() with base 10: 'xx'" in told


def test_an_error_that_is_not_the_users_keeps_its_traceback(command, config, tmp_path, monkeypatch):
    from allennlp.commands import train

    def broken(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr(train, "train_model", broken)
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert "Traceback" in told and "RuntimeError: a defect" in told and "error: " not in told.splitlines()[0]


def test_the_traceback_comes_back_on_request(command, monkeypatch):
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    assert "Traceback" in command("evaluate", "none.tar.gz", "x")


def test_the_causes_of_a_failed_union_are_told():
    error = ConfigurationError("Failed to construct argument x with type int or bool.")
    error.__cause__ = ConfigurationError('config key "x" must be\n a number')
    told = describe(error)
    assert told == 'Failed to construct argument x with type int or bool: config key "x" must be a number'


def test_handlers_of_other_kinds_do_not_get_the_traceback(command, capsys):
    stream = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(stream)
    assert command("evaluate", "none.tar.gz", "x").count("\n") == 1
    assert "Traceback" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "key, sampler, sentence",
    [
        ("model.sampler", {"type": "discrete"}, "model.sampler.num_samples must be at least 1, found 0."),
        # A sentence that begins with another name is left alone.
        ("model.inference", {"type": "discrete"}, "sampler.num_samples must be at least 1, found 0."),
    ],
)
def test_a_part_that_refuses_a_setting_is_named_by_its_whole_key(key, sampler, sentence):
    with pytest.raises(ConfigurationError) as error:
        Sampler.from_params(Params({**sampler, "num_samples": 0}, history=f"{key}."))
    assert describe(error.value) == sentence
