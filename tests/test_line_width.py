"""No line of the configs is too long; ruff looks at the code."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("*.libsonnet", "*.jsonnet")
WIDTH = 120


@pytest.mark.skipif(shutil.which("git") is None, reason="which files to look at, git says: not installed")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="which files to look at, a clone says: .git is not here")
def test_no_line_is_too_long():
    command = ["git", "ls-files", "-z", "--", *KINDS]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Git also lists a file that has been deleted, until its removal is staged.
    paths = [path for path in listed.split("\0")[:-1] if (ROOT / path).exists()]
    assert {Path(path).suffix for path in paths} == {Path(kind).suffix for kind in KINDS}
    wide = [
        f"{path}:{number}: {len(line)} characters"
        for path in paths
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").split("\n"), start=1)
        if len(line) > WIDTH
    ]
    assert not wide, "\n".join([f"over {WIDTH} characters:", *wide])
