"""The commands of data/README.md that convert a data set."""

import re
import subprocess
from pathlib import Path

from scripts import convert

README = Path(__file__).resolve().parents[2] / "data" / "README.md"


def convert_as_documented(name: str) -> None:
    """Runs those of a data set in the working directory; loops, variables and patterns are a shell's."""
    run = 0
    for block in re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        if f"data/{name}/" in block and "convert.py" in block:
            said = block.replace("python scripts/convert.py", "echo")
            shell = subprocess.run(["bash", "-c", said], capture_output=True, text=True, check=True)
            lines = shell.stdout.splitlines()
            for line in (line for line in lines if f"data/{name}/" in line):
                assert convert.main(line.split()) == 0
                run += 1
    assert run
