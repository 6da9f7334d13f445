"""
What the library is made of, in checkouts side by side: lines by package, patches of AllenNLP, what an import of the
core loads with AllenNLP and without, and the files, depth and cost of a training step.

    python scripts/upkeep/house.py before=../seal-before now=. --rounds 3

A package is a folder of `seal/`; its lines are those of its Python files. A patch is a function or module whose
docstring has "Patches:", and replaces one function or several by `replace_once`. A config's word in a message of the
core is a key with a dot after `trainer` or `model`, in a string that is no docstring. A training step is a batch of NCE
as a loss; its files and depth are those of `seal/` that are entered, and the most of their calls inside each other. Its
cost is CPU time, the median over rounds, in which the checkouts take turns. Prints Markdown.
"""

import argparse
import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WARM, STEPS = 20, 100
"""Updates before the measurement, and those that are timed; a batch has two, one for each player."""

IMPORT = """
import json, sys, time
import torch

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "allennlp":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if sys.argv[1:] == ["alone"]:
    sys.meta_path.insert(0, Missing())
loaded, began = len(sys.modules), time.process_time()
import seal.hypergradients
print(json.dumps([len(sys.modules) - loaded, time.process_time() - began]))
"""

STEP = f"""
import json, os, sys, time
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
updates, files, deepest, began = 0, set(), 0, 0.0
here = os.path.join(os.getcwd(), "seal", "")

def watch(frame, event, argument):
    global deepest
    if event == "call" and frame.f_code.co_filename.startswith(here):
        files.add(frame.f_code.co_filename)
        depth = 0
        while frame is not None:
            depth += frame.f_code.co_filename.startswith(here)
            frame = frame.f_back
        deepest = max(deepest, depth)

def count(*_):
    global updates, began
    updates += 1
    if updates == {WARM}:
        sys.setprofile(watch)
    elif updates == {WARM} + 2:
        sys.setprofile(None)
        began = time.process_time()
    elif updates == {WARM} + 2 + {STEPS}:
        seconds = (time.process_time() - began) / ({STEPS} / 2)
        print(json.dumps([len(files), deepest, seconds]), flush=True)
        os._exit(0)

torch.set_num_threads(1)
register_optimizer_step_post_hook(count)
# In checkouts before this config had its name, NCE as a loss was `srl_nce`.
config = "training_configs/srl_nce_as_a_loss.jsonnet"
config = config if os.path.exists(config) else "training_configs/srl_nce.jsonnet"
sys.argv = ["allennlp", "train", config, "--include-package", "seal", "-s", sys.argv[1]]
from allennlp.__main__ import run
run()
"""


#: The packages of which torch and NumPy are all that is needed.
CORE = (
    *("common", "constraints", "energies", "hypergradients", "losses", "nets", "output_spaces", "rewards"),
    *("samplers", "scores", "structure", "two_player"),
)
_KEY = re.compile(r"\b(?:trainer|model)\.[a-z_]+")


def packages(checkout: Path) -> tuple[Counter, dict[str, int]]:
    """Lines of Python by package, and what is counted of the checkout."""
    lines: Counter = Counter()
    counts: Counter = Counter()
    for path in sorted((checkout / "seal").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        inside = path.relative_to(checkout / "seal").parts
        lines[inside[0] if len(inside) > 1 else "(root)"] += text.count("\n")
        kinds = (ast.Module, ast.FunctionDef, ast.ClassDef)
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
        counts["lines of code of `seal/`"] += _lines_of_code(text)
        counts["patches of AllenNLP"] += sum("Patches:" in (ast.get_docstring(node) or "") for node in nodes)
        counts["functions that they replace"] += len(re.findall(r"^ +replace_once\(", text, re.MULTILINE))
        counts["files of `seal/`"] += 1
        if inside[0] in CORE:
            counts["words of a config in the core's messages"] += len(_KEY.findall(_messages(text)))

    def lines_of(pattern: str) -> int:
        return sum(path.read_text(encoding="utf-8").count("\n") for path in checkout.glob(pattern))

    counts["lines of `scripts/`"] = lines_of("scripts/**/*.py")
    counts["lines of tests"] = lines_of("tests/**/*.py")
    counts["lines of jsonnet libraries"] = lines_of("training_configs/lib/*.libsonnet")
    counts["words of README"] = len((checkout / "README.md").read_text(encoding="utf-8").split())
    return lines, dict(counts)


def _lines_of_code(text: str) -> int:
    """The lines of a module that are no docstring, import, comment or blank line."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_string or isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out.update(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(number not in left_out and not re.match(r"\s*(#|$)", line) for number, line in lines)


def _messages(text: str) -> str:
    """The strings of a module that are no docstrings."""
    nodes = list(ast.walk(ast.parse(text)))
    statements = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = [node for node in nodes if isinstance(node, ast.Constant)]
    return "\n".join(str(node.value) for node in strings if isinstance(node.value, str) and id(node) not in statements)


def answer(checkout: Path, program: str, *arguments: str) -> list[float]:
    """The last line that a program prints in a process of its own, inside the checkout, as JSON."""
    env = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(f"{checkout}: {done.stderr[-2000:]}") from None


def measured(checkouts: dict[str, Path], rounds: int) -> dict[str, dict[str, Any]]:
    """Rows of the second table, by the names of the checkouts."""
    found: dict[str, dict[str, list]] = {name: {"import": [], "alone": [], "step": []} for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            found[name]["import"].append(answer(checkout, IMPORT))
            try:
                found[name]["alone"].append(answer(checkout, IMPORT, "alone"))
            except SystemExit:  # That checkout needs AllenNLP.
                found[name]["alone"] = []
            with tempfile.TemporaryDirectory() as folder:
                found[name]["step"].append(answer(checkout, STEP, os.path.join(folder, "run")))
    return {
        name: {
            "modules that `import seal.hypergradients` loads beyond torch": rows["import"][0][0],
            "its CPU seconds beyond torch": _median(row[1] for row in rows["import"]),
            "its modules where AllenNLP is not installed": rows["alone"][0][0] if rows["alone"] else "–",
            "its CPU seconds there": _median(row[1] for row in rows["alone"]),
            "files of a training step": rows["step"][0][0],
            "depth of a training step": rows["step"][0][1],
            "CPU milliseconds of a training step": f"{1e3 * statistics.median(row[2] for row in rows['step']):.1f}",
        }
        for name, rows in found.items()
    }


def _median(seconds: Iterable[float]) -> str:
    found = list(seconds)
    return f"{statistics.median(found):.2f}" if found else "–"


def table(head: str, columns: dict[str, dict[str, Any]]) -> str:
    keys = dict.fromkeys(key for column in columns.values() for key in column)
    rows = [[head, *columns], ["---"] * (1 + len(columns))]
    rows += [[key, *(str(column[key]) for column in columns.values())] for key in keys]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--rounds", type=int, default=3, help="of imports and steps (default: 3)")
    options = parser.parse_args(arguments)
    checkouts = {}
    for text in options.checkouts:
        name, _, folder = text.partition("=")
        if not (Path(folder) / "seal").is_dir():
            parser.error(f"{text}: name a checkout of the repository as NAME=FOLDER")
        checkouts[name] = Path(folder).resolve()
    lines = {name: packages(checkout) for name, checkout in checkouts.items()}
    names = sorted(set().union(*(counted for counted, _ in lines.values())))
    by_package = {
        name: {**{package: counted[package] or "–" for package in names}, "total": counted.total()}
        for name, (counted, _) in lines.items()
    }
    print(table("package", by_package), "\n")
    numbers = measured(checkouts, options.rounds) if options.rounds else {name: {} for name in checkouts}
    print(table("", {name: {**lines[name][1], **numbers[name]} for name in checkouts}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
