"""`predict` of `seal`, and of AllenNLP, with the predictor of `seal_srl` models."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from allennlp.predictors import Predictor

from seal.cli.main import main

# The folder of `.allennlp_plugins`.
ROOT = Path(__file__).resolve().parents[3]

COOK = "The old cook gave her a knife and left."

# Each line with its expected record, given as the input of `predict_json` or empty where it is an error.
LINES = [
    (COOK.encode(), {"sentence": COOK}),
    (b"", ""),
    (b'{"sentence": "She didn\'t say it."}', {"sentence": "She didn't say it."}),
    (
        b'{"words": ["People", "say", "it", "."], "predicates": [1]}',
        {"words": ["People", "say", "it", "."], "predicates": [1]},
    ),
    (b" \t ", ""),
    (b'{"sentence": "She left."', ""),
    (b'{"words": ["She", "left"], "predicates": [2]}', ""),
    (b"The caf\xe9 closed.", ""),
    (b'{"sentence": "half \\ud83d"}', ""),
    (b'{"text": "She left."}', ""),
    (b"Rain .", {"sentence": "Rain ."}),
    ("Z\u00fcrich \U0001f600 left.".encode(), {"sentence": "Z\u00fcrich \U0001f600 left."}),
    (b"[not JSON", {"sentence": "[not JSON"}),
]
INPUT = b"\n".join(line for line, _ in LINES) + b"\n"


def strict(text: str):
    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def predicted(archive, path, folder, *options):
    """The records of `seal predict`; some may be errors."""
    output = folder / "out.jsonl"
    try:
        main(["predict", str(archive), str(path), "--silent", "--output-file", str(output), *options])
    except SystemExit as ended:
        assert ended.code == 3
    return [strict(line) for line in output.read_text().splitlines()]


def assert_records(records, archive):
    predictor = Predictor.from_path(archive)
    expected = [(number, *line) for number, line in enumerate(LINES, start=1)]
    assert len(records) == len(expected)
    for record, (number, line, wanted) in zip(records, expected):
        # As an editor counts lines; and the text, if there is one that can be written.
        assert record.pop("line") == number
        given = "She left." if line.startswith(b'{"text"') else line.decode() if not line.strip() else None
        assert record.pop("input", None) == (given if isinstance(wanted, str) else wanted.get("sentence"))
        if isinstance(wanted, str):
            assert list(record) == ["error"]
            assert record["error"].startswith(f"line {number}: ")
            continue
        alone = predictor.predict_json(wanted)
        for frame, other in zip(record["frames"], alone["frames"]):
            assert frame.pop("probability") == pytest.approx(other.pop("probability"), abs=1e-6)
        assert record == alone
    assert [len(records[place]["frames"]) for place in (0, 3)] == [2, 1]


def test_each_line_has_a_record(archive, tmp_path):
    (tmp_path / "lines.txt").write_bytes(INPUT)
    assert_records(predicted(archive, tmp_path / "lines.txt", tmp_path, "--batch-size", "4"), archive)


@pytest.mark.parametrize("batch_size", [1, 64])
def test_standard_input_is_read_with_a_dash(archive, tmp_path, monkeypatch, batch_size):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INPUT), encoding="utf-8"))
    assert_records(predicted(archive, "-", tmp_path, "--batch-size", str(batch_size)), archive)


def test_the_command_of_allennlp_needs_no_flags_and_gives_the_same_records(archive, tmp_path):
    """It leaves blank lines out, and reads no others than UTF-8."""
    lines = [line for line, _ in LINES if line.strip() and line.decode(errors="ignore").encode() == line]
    (tmp_path / "lines.txt").write_bytes(b"\n".join(lines))
    run = subprocess.run(
        [sys.executable, "-m", "allennlp", "predict", str(archive), str(tmp_path / "lines.txt"),
         "--output-file", str(tmp_path / "theirs.jsonl"), "--batch-size", "4"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    theirs = (tmp_path / "theirs.jsonl").read_text().splitlines()
    assert [strict(line) for line in theirs] == predicted(
        archive, tmp_path / "lines.txt", tmp_path, "--batch-size", "4"
    )
    console = [line for line in run.stdout.splitlines() if line.startswith("prediction: ")]
    assert [line.split(" ", 1)[1].strip() for line in console] == theirs


def test_predictor_arguments_reach_the_predictor(archive, tmp_path):
    (tmp_path / "lines.txt").write_text(COOK + "\n")
    arguments = ["--predictor-args", '{"energy": true, "predicate_threshold": 0}']
    (record,) = predicted(archive, tmp_path / "lines.txt", tmp_path, *arguments)
    assert len(record["frames"]) == 10 and all(isinstance(f["energy"], float) for f in record["frames"])


def test_a_table_has_an_input_a_row(archive, tmp_path):
    (tmp_path / "a.csv").write_text(f'sentence,id\r\n"{COOK}",x\r\n"She said,\r\n""No.""",\r\n\r\nRain .,z\r\n')
    records = predicted(archive, tmp_path / "a.csv", tmp_path)
    assert [(record["line"], record["id"]) for record in records] == [(2, "x"), (3, ""), (6, "z")]
    assert [frame["predicate"] for frame in records[0]["frames"]] == ["gave", "left"]
    assert records[1]["words"][:3] == ["She", "said", ","] and records[2]["frames"] == []
