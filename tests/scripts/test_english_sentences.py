"""scripts/english_sentences.py: the file of sentences, and what is counted."""

from collections import Counter

from scripts import english_sentences


def test_thirty_sentences_of_five_kinds():
    sentences = list(english_sentences.read())
    assert set(Counter(sentence.kind for sentence in sentences).values()) == {6} and len(sentences) == 30
    assert all(sentence.words[place].isalpha() for sentence in sentences for place in sentence.frames)


def test_frames_are_counted_by_kind(monkeypatch):

    def answers(model, sentences):
        for number, sentence in enumerate(sentences):
            # Of the first sentence one verb is not found, of the second the frame is another.
            wrong = ({}, dict.fromkeys(sentence.frames, "other"))
            yield sentence, wrong[number] if number < 2 else sentence.frames

    monkeypatch.setattr(english_sentences, "answers", answers)
    rows = english_sentences.page("model").splitlines()
    assert "| news | 4 of 6 | 8 of 11 | 2 |" in rows and "| all | 28 of 30 | 47 of 50 | 2 |" in rows
    assert sum(row.startswith("* gold: ") for row in rows) == 3
