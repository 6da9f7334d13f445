"""AllenNLP's own `allennlp predict` with the predictor of `seal_srl` models."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from allennlp.commands import main
from allennlp.predictors import Predictor

# The folder of `.allennlp_plugins`.
ROOT = Path(__file__).resolve().parents[2]

COOK = "The old cook gave her a knife and left."

# Each line with its expected record, given as the input of `predict_json` or as the start of the error.
LINES = [
    (COOK.encode(), {"sentence": COOK}),
    (b"", "'sentence' is blank."),
    (b'{"sentence": "She didn\'t say it."}', {"sentence": "She didn't say it."}),
    (
        b'{"words": ["People", "say", "it", "."], "predicates": [1]}',
        {"words": ["People", "say", "it", "."], "predicates": [1]},
    ),
    (b" \t ", "'sentence' is blank."),
    (b'{"sentence": "She left."', "the line starts with '{' and is not JSON"),
    (b'{"words": ["She", "left"], "predicates": [2]}', "predicate 2 is not"),
    (b"The caf\xe9 closed.", "the byte 0xe9 at character 8 is not UTF-8"),
    (b'{"sentence": "half \\ud83d"}', "'sentence' holds half a surrogate pair"),
    (b'{"text": "She left."}', "the object needs 'sentence' or 'words'"),
    (b"Rain .", {"sentence": "Rain ."}),
    ("Z\u00fcrich \U0001f600 left.".encode(), {"sentence": "Z\u00fcrich \U0001f600 left."}),
    (b"[not JSON", {"sentence": "[not JSON"}),
]
INPUT = b"\n".join(line for line, _ in LINES) + b"\n"


def strict(text: str):
    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


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
            assert record["error"].startswith(f"line {number}: {wanted}")
            continue
        alone = predictor.predict_json(wanted)
        for frame, other in zip(record["frames"], alone["frames"]):
            assert frame.pop("probability") == pytest.approx(other.pop("probability"), abs=1e-6)
        assert record == alone
    assert [len(records[place]["frames"]) for place in (0, 3)] == [2, 1]


def test_predict_needs_no_flags_and_gives_each_line_a_record(archive, tmp_path):
    (tmp_path / "lines.txt").write_bytes(INPUT)
    run = subprocess.run(
        [sys.executable, "-m", "allennlp", "predict", str(archive), str(tmp_path / "lines.txt"),
         "--output-file", str(tmp_path / "out.jsonl"), "--batch-size", "4"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert_records([strict(line) for line in lines], archive)
    console = [line for line in run.stdout.splitlines() if line.startswith("prediction: ")]
    assert [line.split(" ", 1)[1].strip() for line in console] == lines


@pytest.mark.parametrize("batch_size", [1, 64])
def test_standard_input_is_read_with_a_dash(archive, tmp_path, monkeypatch, batch_size):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INPUT), encoding="utf-8"))
    output = tmp_path / "out.jsonl"
    arguments = [str(archive), "-", "--output-file", str(output), "--silent", "--batch-size", str(batch_size)]
    monkeypatch.setattr(sys, "argv", ["allennlp", "predict", *arguments])
    main()
    assert_records([strict(line) for line in output.read_text().splitlines()], archive)


def test_predictor_arguments_reach_the_predictor(archive, tmp_path, monkeypatch):
    (tmp_path / "lines.txt").write_text(COOK + "\n")
    output = tmp_path / "out.jsonl"
    arguments = ["--predictor-args", '{"energy": true, "predicate_threshold": 0}']
    monkeypatch.setattr(
        sys, "argv",
        ["allennlp", "predict", str(archive), str(tmp_path / "lines.txt"), "--silent",
         "--output-file", str(output), *arguments],
    )  # fmt: skip
    main()
    (record,) = [strict(line) for line in output.read_text().splitlines()]
    assert len(record["frames"]) == 10 and all(isinstance(f["energy"], float) for f in record["frames"])


def test_a_table_has_an_input_a_row(archive, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(f'sentence,id\r\n"{COOK}",x\r\n"She said,\r\n""No.""",\r\n\r\nRain .,z\r\n')
    output = tmp_path / "out.jsonl"
    monkeypatch.setattr(
        sys, "argv",
        ["allennlp", "predict", str(archive), str(tmp_path / "a.csv"), "--silent", "--output-file", str(output)],
    )  # fmt: skip
    main()
    records = [strict(line) for line in output.read_text().splitlines()]
    assert [(record["line"], record["id"]) for record in records] == [(2, "x"), (3, ""), (6, "z")]
    assert [frame["predicate"] for frame in records[0]["frames"]] == ["gave", "left"]
    assert records[1]["words"][:3] == ["She", "said", ","] and records[2]["frames"] == []
