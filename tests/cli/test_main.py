"""The command `seal`."""

import json
import logging
import os
import re
import subprocess
import sys

import pytest
from allennlp.common import logging as logging_of_allennlp
from allennlp.common import tqdm as bars

from seal.cli import logs
from seal.cli.main import main
from seal.lazy_imports import LAZY
from seal.version import VERSION
from tests.forked import Forked


@pytest.fixture
def log_quietly(monkeypatch):
    """Logs as the command does; what it changes in AllenNLP's log is put back."""
    monkeypatch.setattr(logging_of_allennlp, "prepare_global_logging", logging_of_allennlp.prepare_global_logging)
    monkeypatch.setattr(bars, "TqdmToLogsWriter", bars.TqdmToLogsWriter)
    monkeypatch.setattr(logging, "raiseExceptions", True)
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    return logs.log_quietly


def test_the_command_says_what_was_asked_for_and_imports_nothing_that_it_does_not_use(tmp_path):
    """
    In a folder without a plugins file, and with no module of AllenNLP's that asks the network. Any name of `LATE` would
    cost seconds; the clients of remote storage are imported at their first use. A class of AllenNLP has one of
    transformers as its base, and that needs the hub's package.
    """
    late = {*LAZY, "torch._dynamo", "transformers.models", "transformers.modeling_utils", "transformers.generation"}
    late -= {"transformers", "huggingface_hub"}
    code = (
        "import runpy, sys\nsys.argv[1:] = ['components', 'solver']\nrunpy.run_module('seal', run_name='__main__')\n"
        f"print(*sorted(sys.modules.keys() & {late!r}))\n"
        "from cached_path.schemes import get_supported_schemes\nprint(*get_supported_schemes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    *told, imported, schemes = done.stdout.splitlines()
    assert told[0].startswith("conjugate_gradient ") and len(told) == 8 and imported == ""
    assert {"s3", "https"} <= set(schemes.split())


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("where, told", [("| true", ""), ("> /dev/full", "No space left on device")])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")
def test_standard_output_that_takes_no_more(where, told, unbuffered, tmp_path):
    """A reader that has had enough, as `head` has, is no error to tell, and a full disk is told in a sentence."""
    code = (
        "import sys, time\nfrom seal.cli.errors import in_sentences\n"
        "@in_sentences\ndef command():\n    sys.stdin.read()\n    print('scores')\ncommand()"
    )
    line = f"(sleep 0.2) | '{sys.executable}' -c \"$CODE\" {where}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CODE": code, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=300)
    assert told in done.stderr and done.stderr.count("\n") == bool(told)


COMMANDS = ["check", "compare-networks", "components", "demo", "evaluate", "label-interactions", "predict", "report"]
COMMANDS += ["structure", "tag-interactions", "train"]


@pytest.mark.parametrize("asked", ["trian", "build-vocab", "checklist"])
def test_a_mistyped_command_is_told_of_those_that_there_are(asked, capsys):
    with pytest.raises(SystemExit) as ended:
        main([asked])
    assert ended.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert all(name in told for name in (COMMANDS if asked == "trian" else [f"allennlp {asked}"]))


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_the_help_and_the_version_are_of_this_package(asked, capsys):
    with pytest.raises(SystemExit) as ended:
        main([asked])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    if asked == "--version":
        assert VERSION in told
    else:
        assert re.findall(r"^    ([a-z-]+)", told, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("name", ["no_such_package", "no_such_package.part", "seal.no_such_part"])
def test_a_package_that_is_not_there(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["components", "--include-package", name])
    assert ended.value.code == 1
    assert name in capsys.readouterr().err


def test_what_a_package_itself_lacks_keeps_its_traceback(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        main(["components", "--include-package", "needs_more"])
    assert "needs_more" not in sys.modules


def test_the_log_of_a_run_has_more_than_the_console(log_quietly, allennlp_logging, tmp_path, capsys):
    log_quietly()
    logging_of_allennlp.prepare_global_logging(str(tmp_path))
    logger = logging.getLogger("some.where")
    logger.info("a setting")
    logger.info("a phase begins", extra={"news": True})
    for _ in range(3):
        logger.warning("%d lines: take care", 3)
        logger.error("this went wrong")
    logger.warning("%d lines: take care", 4)
    logger.warning("patience was set to None")
    log = (tmp_path / "out.log").read_text()
    assert "a setting" in log and "a phase begins" in log and log.count("3 lines: take care") == 3
    told = capsys.readouterr()
    warnings = [f"warning: {count} lines: take care" for count in (3, 4)]
    wrong = ["error: this went wrong"]
    assert told.err.splitlines() == ["a phase begins", warnings[0], *wrong * 3, warnings[1]] and told.out == ""


@pytest.mark.parametrize("terminal, asked", [(True, False), (False, False), (False, True)])
def test_progress_bars_are_for_terminals(terminal, asked, log_quietly, allennlp_logging, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    log_quietly()
    monkeypatch.setattr(logging_of_allennlp, "FILE_FRIENDLY_LOGGING", asked)
    logging_of_allennlp.prepare_global_logging(str(tmp_path))
    assert list(bars.Tqdm.tqdm(range(3), desc="counting")) == [0, 1, 2]
    assert ("counting" in capsys.readouterr().err) == (terminal or asked)
    # The log of a run has them in any case.
    assert "counting: 100%" in (tmp_path / "out.log").read_text()


def test_what_a_run_with_folds_says(tmp_path):
    """Where it is, a warning once, what the gate chose; and nothing else, where there is no terminal."""
    names = {"train": ["red", "blue"] * 6, "valid": ["red", "blue", "green"] * 6}
    for name, labels in names.items():
        records = [{"text": f"the {label} one, {place}", "labels": [label]} for place, label in enumerate(labels)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "config.jsonnet").write_text(
        f"""local text = import 'seal/text.libsonnet';
        text.experiment(
          data={{ train: '{tmp_path}/train.jsonl', dev: '{tmp_path}/valid.jsonl', reader: {{}} }},
          encoder=text.encoder.cnn(),
          method=text.method.structured(folds=2),
          training={{ epochs: 2 }},
        )"""
    )
    command = Forked("seal", "train", str(tmp_path / "config.jsonnet"), "-s", str(tmp_path / "run"), cwd=tmp_path)
    out, told = command.communicate()
    assert command.returncode == 0, told
    told = told.splitlines()
    assert len([line for line in told if not line.startswith("warning: ")]) == 4
    assert sum("6 of 18 gold labels" in line for line in told) == 1 and len(set(told)) == len(told)
    assert (tmp_path / "run" / "out.log").read_text().count("6 of 18 gold labels") > 6
    archive, *rows, last = out.splitlines()
    decisions = json.loads((tmp_path / "run" / "structure.json").read_text())["decisions"]
    for row, (score, found) in zip(rows, decisions.items(), strict=True):
        own, chosen = (f"{100 * found['values'][option]:.2f}" for option in ("own", found["option"]))
        assert row.startswith(f"{score} ") and f"{own} own, {chosen} chosen" in row and row.endswith(found["told"])


def test_control_c_while_libraries_are_imported_is_no_traceback():
    code = """
import sys

class Stopped:
    def find_spec(self, name, *_):
        if name == "allennlp.commands":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stopped())
import seal.__main__
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.splitlines()[-1:]) == (130, ["stopped"])
    assert "Traceback" not in ended.stderr
