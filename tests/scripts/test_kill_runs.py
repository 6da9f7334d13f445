"""scripts/upkeep/kill_runs.py: how a process is ended, and that the comparison finds what differs."""

import subprocess
import sys

import pytest
import torch

from scripts.upkeep.kill_runs import difference, ended

ZEROS = torch.zeros(2)
NAN = float("nan")


@pytest.mark.parametrize("heads", [True, False])
def test_a_process_is_killed_whether_or_not_it_heads_a_group_already(heads):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=heads)
    assert ended(process.pid, 0) is None
    with pytest.raises(ChildProcessError):
        ended(process.pid, 1)
    process.stdin.close()


def test_a_process_that_ends_has_its_status():
    assert ended(subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]).pid, 60) == 3


@pytest.mark.parametrize(
    "one, other, names",
    [
        ({"a": ZEROS, "b": 1}, {"a": torch.ones(2), "b": 1}, "1 of 2 differ: a"),
        ({"a": ZEROS}, {"a": ZEROS.double()}, "1 of 1 differ: a"),
        ({"a": ZEROS}, {"a": torch.zeros(3)}, "1 of 1 differ: a"),
        ({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": NAN}, "1 of 2 differ: b"),
        ({"a": 1}, {"a": 1, "b": 2}, "1 of 1 differ: b"),
        ({"a": 1, "b": 2}, {"a": 1}, "1 of 2 differ: b"),
        ({"a": ZEROS / 0, "b": NAN, "c": b"x"}, {"a": ZEROS / 0, "b": NAN, "c": b"x"}, None),
    ],
)
def test_what_differs_is_named(one, other, names):
    assert difference(one, other) == names
