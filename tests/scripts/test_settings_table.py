"""docs/settings.md: it is what the libraries have, and says what each setting is."""

import pytest

from scripts.upkeep.settings_table import MEANING, PAGE, entries, page
from seal.cli.library_calls import functions

AGAIN = "python scripts/upkeep/settings_table.py"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), f"run `{AGAIN}`"


def test_no_meaning_is_left_over():
    found = {name for tasks in entries().values() for rows in tasks.values() for name, _, _ in rows}
    assert found == set(MEANING)


@pytest.mark.parametrize(
    "setting, default",
    [("num_samples", "20"), ("energy_weight", "0.1"), ("cost", "'l1'"), ("share_encoder", "false")],
)
def test_defaults_are_those_of_the_functions(setting, default):
    assert ("srl", setting, default) in {
        ("srl", name, value) for name, function, value in entries()["method"]["srl"] if function in ("nce", "margin")
    }


def test_functions_of_jsonnet():
    source = """
{
  // A comment, with a(b=1).
  one(a, b={ c: [1, 2], d: 'x' },):
    two(3),
  many(
    e=$.one(1, 2),
  ): {},
  field: 3,
}
"""
    one = [("a", ""), ("b", "{ c: [1, 2], d: 'x' }")]
    assert functions(source) == {"one": one, "many": [("e", "method.one(1, 2)")]}
