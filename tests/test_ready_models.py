"""The models that come with the package: they open, and say what their cards and README say."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import seal
from scripts import english_sentences
from scripts.ready_model import LARGEST_MOVE, MODELS, READY_MODELS
from seal.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAMES = [model.name for model in MODELS.values()]
#: By how much a score of a card may move, in percent.
MOST = 0.1


def card(name):
    return (READY_MODELS / f"{name}.md").read_text(encoding="utf-8")


def test_the_cards_are_of_these_archives_which_are_small():
    archives = {name: (READY_MODELS / f"{name}.tar.gz").read_bytes() for name in NAMES}
    for name, content in archives.items():
        assert f"SHA-256 of the archive: `{hashlib.sha256(content).hexdigest()}`" in card(name)
        assert "CC BY-SA 4.0" in card(name)
    assert sum(map(len, archives.values())) < 10e6 and MOST > LARGEST_MOVE
    assert "Attribution-ShareAlike 4.0" in (READY_MODELS / "LICENSE").read_text(encoding="utf-8")


def test_the_first_command_of_the_readme_prints_what_it_says(tmp_path, monkeypatch, capsys):
    ((sentence, printed),) = re.findall(
        r"echo '(.*)' \| seal predict english-srl - .*\n```\n\n```text\n(.*?)```", README, re.DOTALL
    )
    (tmp_path / "text").write_text(sentence)
    monkeypatch.chdir(tmp_path)
    main(["predict", "english-srl", "text", "--output-format", "plain"])
    found, wanted = (re.split(r"(0\.\d\d)\n", text.strip() + "\n") for text in (capsys.readouterr().out, printed))
    assert found[::2] == wanted[::2] and len(wanted) == 3
    # Other processors round otherwise.
    assert [float(number) for number in found[1::2]] == pytest.approx([float(n) for n in wanted[1::2]], abs=0.02)


def test_the_first_program_of_the_readme_gives_frames_with_a_picture():
    (sentence,) = re.findall(r'\nsrl\("([^"]+)"\)', README)
    record = seal.load("english-srl")(sentence)
    assert "<svg" in record._repr_html_() and len(record["frames"]) >= 3


def test_thirty_sentences_are_answered_as_the_card_says():
    table = re.compile(r"^\| (.*?) \| (\d+) of (\d+) \| (\d+) of (\d+) \| (\d+) \|$", re.M)
    now, then = (table.findall(text) for text in (english_sentences.page("english-srl"), card("english-srl")))
    assert [row[0] for row in now] == [row[0] for row in then]
    for kind, *numbers in now:
        assert numbers == next(other[1:] for other in map(list, then) if other[0] == kind)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS.values(), ids=NAMES)
def test_scores_are_those_of_the_card(model, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    if not Path(model.files[1]).exists():
        pytest.skip(f"{model.files[1]} is not here; see data/README.md")
    main(["evaluate", model.name, model.test, "--output-file", str(tmp_path / "scores.json")])
    scores = json.loads((tmp_path / "scores.json").read_text())
    told = {name: float(value) for name, value in re.findall(r"^\| `(\w+)` \| ([\d.]+) \|$", card(model.name), re.M)}
    assert set(told) <= set(scores)
    for name, value in told.items():
        assert scores[name] == pytest.approx(value, abs=MOST)


@pytest.mark.parametrize(
    "text",
    [
        "Der Zug nach Köln hält hier nicht.",
        "昨日、友人が古い車を売りました。",
        "x" * 1000,
        "😀 😀 😀",
    ],
)
def test_any_text_has_a_record(text):
    record = seal.load("english-srl", split_sentences=False)(text)
    assert "".join(record["words"]) and all(0 <= frame["probability"] <= 1 for frame in record["frames"])
