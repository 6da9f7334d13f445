"""docs/extending.md: its files are written as they stand there; its tests pass, and its configs train."""

import json
import re
import tarfile
from pathlib import Path

import pytest
import torch

from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
CONFIGS = re.findall(r"^```jsonnet\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page's files, with data and the sentences that its reader reads."""
    folder = tmp_path_factory.mktemp("extending")
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 14
    for path, code in blocks:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(code, encoding="utf-8")
    names = sorted(path.stem for path in (folder / "mine").glob("*.py"))
    (folder / "mine" / "__init__.py").write_text("".join(f"import mine.{name}\n" for name in names), encoding="utf-8")
    (folder / "data").symlink_to(ROOT / "data")
    rows = (ROOT / "data" / "tagging_sample" / "train.tsv").read_text(encoding="utf-8").split("\n\n")[:30]
    cells = [[row.split("\t") for row in text.splitlines()] for text in rows]
    lines = [" ".join(f"{row[0]}/{row[-1]}" for row in sentence) for sentence in cells]
    for name in ("train.txt", "dev.txt"):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [[row[0] for row in sentence] for sentence in cells]
    items = [json.dumps({"words": sentence, "keywords": sentence[:1]}) + "\n" for sentence in words]
    for name in ("train.jsonl", "dev.jsonl"):
        (folder / name).write_text("".join(items), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_its_tests_pass(folder):
    command = Forked("pytest", "-q", "-p", "no:cacheprovider", "-o", "pythonpath=.", "tests", cwd=folder)
    told = command.communicate()
    assert "7 passed" in told[0], told


@pytest.mark.slow
@pytest.mark.parametrize(
    "number, named",
    [(0, "label_count"), (1, "span_number"), (2, "richardson"), (3, "tagging_in_shares"), (4, "keywords")],
)
def test_its_configs_train(folder, number, named):
    assert len(CONFIGS) == 5
    (folder / f"{number}.jsonnet").write_text(CONFIGS[number], encoding="utf-8")
    once = ("-o", '{"trainer.num_epochs": 1}')
    arguments = ("train", f"{number}.jsonnet", "-s", f"runs/{number}", "--include-package", "mine", *once)
    command = Forked("seal", *arguments, cwd=folder)
    told = command.communicate()
    assert command.returncode == 0, told
    assert named in (folder / "runs" / str(number) / "config.json").read_text(encoding="utf-8")
    metrics = json.loads((folder / "runs" / str(number) / "metrics.json").read_text(encoding="utf-8"))
    if named == "tagging_in_shares":
        assert metrics["best_validation_error"] == pytest.approx(100 - metrics["best_validation_accuracy"])
    elif named == "span_number":
        with tarfile.open(folder / "runs" / str(number) / "model.tar.gz") as archive:
            weights = torch.load(archive.extractfile("weights.th"), weights_only=True)
        (learned,) = [weight for name, weight in weights.items() if name.endswith("energies.1.cost")]
        assert len(learned) == 7 and learned.abs().max() > 0
    else:
        assert metrics["training_loss_net_loss"] > 0
    if named == "keywords":
        (folder / "sentence.txt").write_text("Rose sells ginger\n", encoding="utf-8")
        given = ("sentence.txt", "--include-package", "mine", "--output-format", "plain")
        printed, errors = Forked("seal", "predict", f"runs/{number}/model.tar.gz", *given, cwd=folder).communicate()
        # The record in the task's own words.
        assert printed.startswith("Rose sells ginger\n  "), errors
