"""A run that is stopped by Control-C or a signal: its exit status, and how it is continued."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from allennlp.common.util import SigTermReceived
from allennlp.training import TrainerCallback

from seal.cli.configs import read_config
from seal.cli.main import main
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[2]


class Waiting(TrainerCallback):
    """Tells by a file that training has begun, and waits for a signal."""

    def on_batch(self, trainer, *args, **kwargs) -> None:
        Path(trainer._serialization_dir, "begun").touch()
        time.sleep(60)


TrainerCallback.register("waiting", exist_ok=True)(Waiting)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, number, status, devices",
    [
        ("seal", signal.SIGINT, 130, None),
        ("seal", signal.SIGTERM, 143, None),
        ("tests.user_errors.forked_workers", signal.SIGTERM, 143, [-1, -1]),
    ],
)
def test_a_run_that_is_stopped(config, tmp_path, module, number, status, devices):
    run = tmp_path / "run"
    overrides = {"trainer.callbacks": ["waiting"]}
    if devices is not None:
        overrides["distributed"] = {"cuda_devices": devices}
    more = ("--include-package", "tests.user_errors.test_stops", "-o", json.dumps(overrides))
    command = [module, "train", config, "-s", str(run), *more]
    if number == signal.SIGINT:
        # A shell's background job ignores Control-C, and so would its children.
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    else:
        process = Forked(*command, cwd=ROOT)
    end = time.monotonic() + 200
    while not (run / "begun").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(number)
    told = process.communicate(timeout=50)[1]
    assert process.returncode == status
    # It follows a progress bar; Python adds a warning about the semaphores of several processes.
    assert "stopped; " in told and "--recover" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "given, told",
    [
        ({}, ["--recover"]),
        ({"recover": True}, []),
        ({"force": True}, ["--recover", "--force"]),
    ],
)
def test_what_is_told_of_a_run_that_is_stopped(config, tmp_path, monkeypatch, given, told):
    from seal.cli import train

    def stop(*_, **__):
        raise KeyboardInterrupt

    run = str(tmp_path / "run")
    if "recover" in given:
        train.train(read_config(config), run)
    monkeypatch.setattr(train, "_work", stop)
    with pytest.raises(KeyboardInterrupt) as error:
        train.train(read_config(config), run, **given)
    (remedy,) = error.value.remedies
    assert [word for word in remedy.split() if word.startswith("--")] == told


@pytest.mark.parametrize("error, status", [(KeyboardInterrupt(), 130), (SigTermReceived(), 143)])
def test_another_command_that_is_stopped(archive, monkeypatch, capsys, error, status):
    def stop(*_):
        raise error

    monkeypatch.setattr("seal.cli.predict.load_model", stop)
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(archive), "x"])
    assert ended.value.code == status and capsys.readouterr().err == "stopped\n"
