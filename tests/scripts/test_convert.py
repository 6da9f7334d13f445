"""The command: `scripts/convert.py`; the layouts are tested in `layouts/`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import convert
from scripts.measure.command import exit_status
from scripts.measure.configs import library_value
from seal.tasks.parsing.reader import ParsingReader
from seal.tasks.srl.reader import SrlReader
from seal.tasks.text.reader import TextMultilabelReader
from tests.scripts.converted import convert_as_documented
from tests.scripts.layouts.test_texts import BOOK

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CONLL_U = str(FIXTURES / "srl" / "kitchen.conllu")


def status_of(*arguments):
    return exit_status(lambda: convert.main([*map(str, arguments)]))


def test_texts_become_json_lines(tmp_path, capsys):
    (tmp_path / "a.txt").write_text(BOOK, encoding="utf-8")
    (tmp_path / "b.txt").write_text(BOOK.replace("Salt", "See"), encoding="utf-8")
    out = tmp_path / "folder" / "out.jsonl"
    assert status_of("bgc", tmp_path / "*.txt", "--out", out) == 0
    assert capsys.readouterr().out == f"{out}: 2 lines\n"
    first, second = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert first == {
        "text": "Salt & Sail Two sisters & a boat.",
        "labels": ["Fiction", "Children\u2019s Books", "Sea Stories"],
    }
    assert second["text"].startswith("See & Sail")
    assert len(list(TextMultilabelReader().read(str(out)))) == 2
    again = tmp_path / "again.jsonl"
    assert status_of("bgc", tmp_path / "a.txt", tmp_path / "b.txt", "--out", again) == 0
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("role_spans", [[], ["--role-spans", "subtree"]])
def test_frames_become_json_lines(tmp_path, role_spans):
    out = tmp_path / "out.jsonl"
    assert status_of("propbank", CONLL_U, "--out", out, *role_spans) == 0
    instances = list(SrlReader(predicate_instances=False).read(str(out)))
    tags = ["B-A0", "I-A0", "I-A0", "I-A0", "B-V", "B-A1", "I-A1"] if role_spans else None
    assert instances[1]["tags"].labels == (tags or ["O", "B-A0", "O", "O", "B-V", "O", "B-A1"])
    assert instances[2]["metadata"]["words"] == ["Do", "n't", "eat"]
    frame = json.loads(out.read_text().splitlines()[1])["frames"][0]
    assert (frame["lemma"], frame["sense"]) == ("eat", "01")


@pytest.mark.parametrize(
    "layout, name, content, told",
    [
        ("bgc", "a.txt", BOOK + "no book\n", "{path}:12"),
        ("nxt", "a.syntax.xml", "<a/>", "{path}"),
        ("aapd", "text_a", "", "label_a"),
        ("bgc", "a.txt", "\n", "{path}"),
        ("propbank", "x.txt", "# a\n1\tb\n", "{path}:2"),
    ],
)
def test_a_mistake_is_a_sentence_and_leaves_nothing(tmp_path, capsys, layout, name, content, told):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    assert status_of(layout, path, "--out", out / "new") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and told.format(path=path) in error
    assert not list(out.iterdir())


@pytest.mark.parametrize(
    "arguments, status",
    [
        (["--help"], 0),
        (["propbank", CONLL_U], 0),
        (["propbank", "a.txt"], 2),
        (["rcv1-topics", "a.txt"], 2),
        (["nxt", "a.syntax.xml"], 2),
    ],
)
def test_plain_python_is_enough(tmp_path, arguments, status):
    """Without any installed package; in well under a second, as nothing large is imported."""
    for name in ("a.txt", "a.syntax.xml"):
        (tmp_path / name).write_text("no such layout\n")
    if status == 2 or "propbank" in arguments:
        arguments = [*arguments, "--out", "out"]
    command = [sys.executable, "-I", "-S", convert.__file__, *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == status, run.stderr
    assert run.stderr == "" if status == 0 else run.stderr.startswith("error: ") and run.stderr.count("\n") == 1
    assert (tmp_path / "out").exists() == (status == 0 and "propbank" in arguments)


def test_an_input_is_never_replaced(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text(BOOK, encoding="utf-8")
    assert status_of("bgc", path, "--out", path) == 2
    assert str(path) in capsys.readouterr().err and path.read_text(encoding="utf-8") == BOOK


def test_the_conversations_of_the_papers(monkeypatch, tmp_path):
    data = library_value("parsing.libsonnet", "lib.data.switchboard_nxt")
    monkeypatch.chdir(tmp_path)
    for kind in ("syntax", "terminals"):
        folder = tmp_path / "data" / "switchboard_nxt" / "xml" / kind
        folder.mkdir(parents=True)
        content = (FIXTURES / "nxt" / kind / f"sw0001.A.{kind}.xml").read_text(encoding="iso-8859-1")
        for number in (2005, 3999, 4004, 4099, 4100, 4149, 4150, 4153, 4154, 4199, 4483, 4519, 4936):
            text = content.replace("sw0001.A", f"sw{number}.A").replace('orth="old"', f'orth="w{number}"')
            (folder / f"sw{number}.A.{kind}.xml").write_text(text, encoding="iso-8859-1")
    convert_as_documented("switchboard_nxt")

    def conversations(part):
        words = [
            word for item in ParsingReader(**data["reader"]).read(data[part]) for word in item["metadata"]["words"]
        ]
        return sorted(int(word[1:]) for word in words if word[1:].isdecimal())

    assert conversations("train") == [2005, 3999]
    assert conversations("dev") == [4519, 4936]
    assert conversations("test") == [4004, 4099, 4100, 4149, 4150, 4153]
