import sys

import pytest

from scripts.upkeep.time_trainings import rows, timed

BUSY = "import time\nwhile time.process_time() < 0.5: pass\n"


def test_cpu_seconds_are_those_of_child_processes_too(tmp_path):
    command = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"]
    cpu, waited = timed(command, str(tmp_path), {})
    assert 0.5 <= cpu < waited + 0.5


def test_a_command_that_fails_ends_the_measurement(tmp_path):
    with pytest.raises(SystemExit, match="status 3"):
        timed([sys.executable, "-c", "raise SystemExit(3)"], str(tmp_path), {})


def test_rows():
    found = {"before": [(3.0, 9.0), (1.0, 7.0), (2.0, 8.0)], "now": [(1.0, 4.0)]}
    assert rows("sample", found) == [
        "| sample, before | 1.0 / 2.0 / 3.0 | 7.0 / 8.0 / 9.0 |",
        "| sample, now | 1.0 / 1.0 / 1.0 | 4.0 / 4.0 / 4.0 |",
    ]
