"""
Runs a notebook's cells from top to bottom, in this process, and writes what they print into it. A line that begins with
`!` is a command of the shell, in which `{name}` stands for a variable, as in Jupyter.

    python scripts/upkeep/run_notebook.py docs/tour.ipynb
"""

import argparse
import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> None:
    """Runs the code cells, and replaces their outputs; an error of a cell ends it."""
    names: dict[str, Any] = {"__name__": "__main__", "shell": _shell}
    for number, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), start=1):
        source = re.sub(r"^!(.*)$", lambda found: f"shell(f{found[1]!r})", "".join(cell["source"]), flags=re.MULTILINE)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(source, f"cell {number}", "exec"), names)
        text = printed.getvalue().splitlines(keepends=True)
        cell["execution_count"] = number
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []


def _shell(command: str) -> None:
    # The commands of this Python's environment come first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    print(done.stdout, end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=Path)
    path = parser.parse_args().notebook
    notebook = json.loads(path.read_text(encoding="utf-8"))
    run(notebook)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
