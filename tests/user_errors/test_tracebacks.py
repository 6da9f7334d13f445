"""Which errors end in a sentence and which keep their traceback."""

import json
import logging
import sys

from allennlp.training import TrainerCallback

from seal.cli.errors import TRACEBACK_VARIABLE


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
    assert "Traceback" in told and "'xx'" in told


def test_an_error_that_is_not_the_users_keeps_its_traceback(command, config, tmp_path, monkeypatch):
    from seal.cli import train

    def broken(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr(train, "_run", broken)
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert "Traceback" in told and "error: " not in told.splitlines()[0]


def test_the_traceback_comes_back_on_request(command, monkeypatch):
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    assert "Traceback" in command("evaluate", "none.tar.gz", "x")


def test_handlers_of_other_kinds_do_not_get_the_traceback(command, capsys):
    stream = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(stream)
    assert command("evaluate", "none.tar.gz", "x").count("\n") == 1
    assert "Traceback" not in capsys.readouterr().out
