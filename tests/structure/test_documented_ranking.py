"""The program of docs/structure.md that ranks outputs of another system, and what wrong shapes are told."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

from seal.registry import ConfigurationError
from seal.structure import TagPaths

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "structure.md").read_text(encoding="utf-8")


def test_the_ranking_of_another_systems_outputs_prints_what_the_page_says():
    part = PAGE.partition("## On top of a model of your own")[2]
    program, printed = re.findall(r"^```(?:python)?\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL)[:2]
    out, found = io.StringIO(), {}
    with contextlib.redirect_stdout(out):
        exec(compile(program, "structure.md", "exec"), found)
    assert out.getvalue() == printed
    # The system's own first candidate is wrong in most sentences.
    own = found["paths"](3)
    assert not torch.equal(own.tags[:, 0], own.gold)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"tags": torch.zeros(2, 5)}, r"tags: .*\(2, 5\)"),
        ({"log_prob": torch.zeros(3, 2)}, r"log_prob: \(2, 3\) .*\(3, 2\)"),
        ({"mask": torch.ones(2, 3, 5).bool()}, r"mask: \(2, 5\)"),
        ({"gold": torch.zeros(2, 1, 5)}, r"gold: \(2, 5\)"),
        ({"keys": ["run"]}, "keys: .*2 .*1"),
    ],
)
def test_shapes_that_do_not_go_together(wrong, sentence):
    right = {"tags": torch.zeros(2, 3, 5), "log_prob": torch.zeros(2, 3), "mask": torch.ones(2, 5).bool()}
    TagPaths(**right)
    with pytest.raises(ConfigurationError, match=sentence):
        TagPaths(**{**right, **wrong})
