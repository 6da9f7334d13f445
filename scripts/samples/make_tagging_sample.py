"""Write the embedded tagging sample: a market's notes, their words with the kind of each and an entity tag.

    python scripts/samples/make_tagging_sample.py --out data/tagging_sample --seed 41

A note names a seller, goods, a place, a day and a price, in the order that its clerk is used to. Most names fit
several entities (Rose sells roses in Rose Lane), commas are often left out, and each entity occurs once at most.
So one tag is evidence about the others that the words do not give. The same seed and sizes always give the same
bytes: all randomness comes from `random.Random.random`, which is the same on every machine and for every version
of Python.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from sample_command import choice, draw_different, write_sample

SPLITS = ("train", "dev", "test")

# The clerks' orders. SEL is the seller, ITM the goods, LOC the place, DAY the day and PRC the price.
CLERKS = (
    "SEL ITM LOC DAY PRC",
    "DAY LOC SEL ITM PRC",
    "LOC SEL DAY PRC ITM",
    "ITM SEL PRC LOC DAY",
)
# How likely a note is to leave an entity out.
LEFT_OUT = {"SEL": 0.1, "ITM": 0.15, "LOC": 0.25, "DAY": 0.25, "PRC": 0.35}
COMMA = 0.3  # how likely a comma is between two entities; otherwise nothing separates them

# Words that fit one entity, and words that fit several, which are most words of a note.
GIVEN = "Anna Bert Clara David Edith Frank Greta Hugo Ida Jonas Karin Ludwig Mona Nils Otto Paula".split()
FAMILY = "Becker Carver Dorsey Ellison Fuller Garrick Holm Iversen Jarvis Keller Lindqvist Munro".split()
GOODS = "apples beans bread butter cheese cream eggs flour honey milk onions pears soap wool".split()
TOWNS = "Arden Brixham Calder Denby Elmore Farley Garston Hexham".split()
GIVEN_OR_GOODS = "Basil Ginger Olive Pepper Poppy Rose Sage Clementine Cherry Hazel Saffron Rosemary".split()
GIVEN_OR_TOWN = "Florence Chester Lincoln Austin Chelsea Kent Paris Verona Sidney Carlisle".split()
GIVEN_OR_MONTH = "April May June August".split()
FAMILY_OR_PLACE = "Hill Marsh Brook Field Wells Bridge Mill Lane Church Wood Stone Cross".split()
MONTHS = "January February March July September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
UNITS = "pounds sacks jars bundles crates bunches".split()
MONEY = "crowns pence shillings".split()

NUMBERS = [str(number) for number in range(1, 31)]
NUMBER_WORDS = set(NUMBERS)
# Kinds, as a part-of-speech tagger might give them: number, name or other capital, small word, punctuation.
PUNCTUATION = set(", .".split())


def either(rng, first, second, share):
    """A word of `first`, or with probability `share` one of `second`."""
    return choice(rng, second if rng.random() < share else first)


def seller(rng):
    shared = choice(rng, (GIVEN_OR_GOODS, GIVEN_OR_TOWN, GIVEN_OR_MONTH))
    given = either(rng, GIVEN, shared, 0.7)
    if rng.random() < 0.55:
        return [given]
    return [given, either(rng, FAMILY, FAMILY_OR_PLACE, 0.6)]


def goods(rng):
    words = [either(rng, GOODS, GIVEN_OR_GOODS, 0.7)]
    if rng.random() < 0.35:
        return [choice(rng, NUMBERS), choice(rng, UNITS), *words]
    return [choice(rng, NUMBERS), *words] if rng.random() < 0.3 else words


def place(rng):
    kind = rng.random()
    if kind < 0.4:
        return [either(rng, TOWNS, GIVEN_OR_TOWN, 0.75)]
    # A street or a spot outside a town: its first word may be anyone's name.
    first = either(rng, GIVEN_OR_TOWN, GIVEN_OR_GOODS, 0.5)
    spot = [first, choice(rng, FAMILY_OR_PLACE)]
    return [choice(rng, NUMBERS), *spot] if kind < 0.6 else spot


def day(rng):
    kind = rng.random()
    if kind < 0.25:
        return [choice(rng, WEEKDAYS)]
    month = either(rng, MONTHS, GIVEN_OR_MONTH, 0.6)
    return [month] if kind < 0.4 else [choice(rng, NUMBERS), month] if kind < 0.75 else [month, choice(rng, NUMBERS)]


def price(rng):
    amount = choice(rng, NUMBERS)
    return [amount] if rng.random() < 0.6 else [amount, choice(rng, MONEY)]


WRITE = {"SEL": seller, "ITM": goods, "LOC": place, "DAY": day, "PRC": price}


def draw_note(rng):
    """The rows of a note, each a word, its kind and its tag; empty where fewer than two entities were drawn."""
    entities = [name for name in choice(rng, CLERKS).split() if rng.random() >= LEFT_OUT[name]]
    rows = []
    for place_in_note, name in enumerate(entities):
        if place_in_note and rng.random() < COMMA:
            rows.append((",", "O"))
        for inside, word in enumerate(WRITE[name](rng)):
            rows.append((word, f"{'I' if inside else 'B'}-{name}"))
    if rng.random() < 0.5:
        rows.append((".", "O"))
    return [(word, kind_of(word), tag) for word, tag in rows] if len(entities) > 1 else []


def kind_of(word):
    if word in PUNCTUATION:
        return "PUN"
    return "NUM" if word in NUMBER_WORDS else "CAP" if word[0].isupper() else "LOW"


def words_of(note):
    """The key by which two notes must differ."""
    return tuple(word for word, _, _ in note)


def make(seed, sizes):
    """The notes of every split, by name; no two have the same words."""
    rng = random.Random(seed)
    return draw_different(lambda: draw_note(rng), sizes, key=words_of, unit="notes")


def render(notes):
    """The text of a split: one row a word, columns set apart by a tab, an empty line after each note."""
    return "".join("".join("\t".join(row) + "\n" for row in note) + "\n" for note in notes)


def table(made):
    """A few counts of each split, as lines; `several` is the share of words that carry several tags in train."""
    tags_of = {}
    for note in made["train"]:
        for word, _, tag in note:
            tags_of.setdefault(word, set()).add(tag)
    lines = ["split  notes  words  entities  tags  several"]
    for split, notes in made.items():
        rows = [row for note in notes for row in note]
        entities = sum(tag[0] == "B" for _, _, tag in rows)
        tags = len({tag for _, _, tag in rows})
        several = 100 * sum(len(tags_of.get(word, ())) > 1 for word, _, _ in rows) / len(rows)
        lines.append(f"{split:<6} {len(notes):>5} {len(rows):>6} {entities:>9} {tags:>5} {several:>6.1f} %")
    return lines


def main(argv=None):
    write_sample(
        argv,
        "Write train, dev and test .tsv files of market notes with entity tags.",
        out="data/tagging_sample",
        seed=41,
        sizes=dict(zip(SPLITS, (600, 200, 200))),
        unit="notes",
        make=make,
        files=lambda made: {f"{split}.tsv": render(notes) for split, notes in made.items()},
        table=table,
    )


if __name__ == "__main__":
    main()
