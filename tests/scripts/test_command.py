"""How scripts end."""

import os
import signal
import subprocess
import sys

import pytest

from scripts.measure.command import exit_status
from scripts.measure.suite import ROOT, UserError


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


def test_a_second_sigterm_ends_it_while_a_thread_is_waited_for():
    """As where `reproduce.py` waits for a run that is being scored."""
    program = """
import sys, threading, time
sys.path.insert(0, ".")
from scripts.measure.command import exit_status

def run():
    thread = threading.Thread(target=time.sleep, args=(600,))
    thread.start()
    try:
        print("begun", flush=True)
        time.sleep(600)
    finally:
        print("waiting", flush=True)
        thread.join()

sys.exit(exit_status(run))
"""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=pipe, stderr=pipe)
    try:
        for told in (b"begun\n", b"waiting\n"):
            assert process.stdout.readline() == told
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 143 and process.stderr.read() == b""
    finally:
        process.kill()
