"""The table of docs/planning.md is what the files of results say."""

import csv
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
SENTENCES = 100_000_000


def value(file, case, method, metric):
    with open(DOCS / "results" / f"benchmark_{file}.csv", encoding="utf-8") as lines:
        (found,) = [
            float(row["value"])
            for row in csv.DictReader(lines)
            if (row["case"], row["method"], row["metric"]) == (case, method, metric)
        ]
    return found


# In the order of the table, for each CPU second. A step has 16 frames, 32 sentences or 32 texts.
RATES = [
    lambda: value("srl_prediction", "prediction, 32 sentences a call", "seal_srl_at_once", "sentences_per_cpu_second"),
    lambda: value("srl_prediction", "prediction, 32 sentences a call", "seal_srl_bfloat16", "sentences_per_cpu_second"),
    lambda: value("chains", "prediction, sample, batch 64", "crf, without", "frames_per_cpu_second"),
    lambda: value("chains", "prediction, sample, batch 64", "crf, structure", "frames_per_cpu_second"),
    lambda: value("tagging", "prediction, batch 64", "cross_entropy", "examples_per_cpu_second"),
    lambda: 32 / value("tagging", "step, batch 32", "nce", "cpu_seconds"),
    lambda: 16 / value("srl", "step, after 60 steps", "cross_entropy", "cpu_seconds"),
    lambda: 16 / value("srl", "step, after 60 steps", "nce_20", "cpu_seconds"),
    lambda: 32 / value("text", "step", "cross_entropy", "cpu_seconds"),
    lambda: 32 / value("text", "step", "nce_20", "cpu_seconds"),
]


def test_the_table():
    page = (DOCS / "planning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([\d.,]+) \| ([\d.,]+) \| \[", page, flags=re.MULTILINE)
    found = [tuple(float(cell.replace(",", "")) for cell in row) for row in rows]
    assert len(found) == len(RATES)
    for (rate, hours), measured in zip(found, RATES):
        assert rate == pytest.approx(measured(), rel=0.01)
        assert hours == pytest.approx(SENTENCES / measured() / 3600, rel=0.01)
