"""Sentences of English text. A bar stands between two of them."""

import pytest

from seal.tasks.base.sentence_splitting import sentences

CASES = [
    "My neighbour sold his old car. | A student bought it.",
    "Mr. Smith met Dr. Jones at St. Mary's Hospital. | They talked for an hour.",
    "She works for Acme Inc. in the U.S. and Canada.",
    "He moved to the U.S. | He never came back.",
    '"Why did you leave?" she asked. | "I was tired."',
    'He said, "Stop it." | Then he left.',
    "He left at 5 p.m. | She stayed until 6 p.m. on Monday.",
    "J. R. R. Tolkien wrote it. | It sold well.",
    "Prices rose by 3.5 percent. | Wages did not.",
    "What a day! | Really?! | Are you sure?",
    "Wait... what did you say? | I was going to say... | Never mind.",
    "See Fig. 3 for details. | The rest is in Sec. 4.",
    "(He was late.) | Nobody noticed (again). | It rained.",
    "Visit www.example.com, or write to bob.smith@example.com. | Thanks!",
    "I like apples, e.g. Granny Smith, and pears, i.e. Conference.",
    "They sell fruit, vegetables, etc. | We sell meat, eggs, etc., to shops.",
    "No. 5 is the best. | No. | I disagree.",
    "Gov. Brown and Sen. Lee met Rep. Ford in Washington, D.C. on Tuesday.",
    "1. Open the box. | 2. Read the manual.",
    "Version 2.0 is out. | 3 people have tried it. | eBay sells it.",
    "'Is it true?' asked the boy. | 'No,' said his mother.",
    "\u201cWhere are you?\u201d she wrote. | \u201cAt home,\u201d he replied.",
    "He works for Yahoo! and likes it.",
    "Prof. A. B. Miller, Ph.D., spoke first. | Lt. Col. Gray followed.",
    "We met in Sept. 2001. | It ended 3 vs. 2 \u2026 | Everyone cheered.",
]


@pytest.mark.parametrize("case", CASES)
def test_sentences_of_ordinary_text(case):
    wanted = case.split(" | ")
    text = "  " + " ".join(wanted) + "\n"
    assert [text[start:end] for start, end in sentences(text)] == wanted


def test_a_blank_line_ends_a_sentence_and_the_end_of_a_line_does_not():
    text = "Subject: Lunch\n \n\nthe first line\ngoes on. Then it ends\n"
    assert [text[start:end] for start, end in sentences(text)] == [
        "Subject: Lunch",
        "the first line\ngoes on.",
        "Then it ends",
    ]


@pytest.mark.parametrize("text", ["", " \n\n ", "\n\n\n", "."])
def test_a_text_without_words_is_one_sentence(text):
    assert len(sentences(text)) == 1


def test_time_grows_with_the_length_alone():
    for part in ("a. ", "A.", "\n ", '."', "Mr. X ", "1. "):
        assert sentences(part * 50000)
