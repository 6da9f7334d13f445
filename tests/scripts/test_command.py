"""How scripts end."""

import os
import signal

import pytest

from scripts.measure.command import exit_status
from scripts.measure.suite import UserError


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "run, status, told",
    [
        (lambda: None, 0, ""),
        (lambda: 1, 1, ""),
        (lambda: _raise(UserError("no such suite")), 2, "error: no such suite\n"),
        (lambda: os.kill(os.getpid(), signal.SIGINT), 130, "stopped; go on\n"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), 143, "stopped; go on\n"),
    ],
)
def test_exit_status(run, status, told, capsys):
    # A shell's background job ignores Control-C.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert exit_status(run, stopped="stopped; go on") == status
    finally:
        signal.signal(signal.SIGINT, previous)
    assert capsys.readouterr().err == told and signal.getsignal(signal.SIGTERM) is handler


def test_other_errors_pass():
    with pytest.raises(KeyError):
        exit_status(lambda: {}["absent"])
