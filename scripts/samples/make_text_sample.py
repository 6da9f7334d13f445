"""Write the embedded text sample: notes from a town's letter box as JSON lines, and the taxonomy of their labels.

    python scripts/samples/make_text_sample.py --out data/text_sample --seed 53

A note is about one affair, such as a burst pipe or a market day, which decides what matters occur together. Most
sentences about a matter fit a few others as well, so the other matters of a note help to identify it. A note
carries only the lowest labels of the taxonomy; the labels above them are in taxonomy.tsv. The same seed and sizes
always give the same bytes: all randomness comes from `random.Random.random`, which is the same on every machine
and for every version of Python.
"""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from sample_command import choice, draw_different, write_sample

SPLITS = ("train", "valid", "test")

# Parent and children. `bills` and `fines` have two parents each: the taxonomy is a graph, not a tree.
TAXONOMY = (
    ("streets", "potholes lighting snow parking fines"),
    ("parks", "benches trees playground"),
    ("water", "leaks drains bills"),
    ("waste", "bins recycling rats"),
    ("money", "bills fines refunds"),
    ("tone", "complaint thanks urgent"),
)
# Affairs: the matters that a note on one always has, and further matters with their probabilities.
AFFAIRS = (
    ("leaks bills", "refunds:0.6 complaint:0.7 potholes:0.3"),
    ("drains potholes", "urgent:0.6 leaks:0.3 rats:0.3"),
    ("trees lighting", "urgent:0.7 benches:0.3 playground:0.3"),
    ("parking fines", "refunds:0.5 complaint:0.8 snow:0.2"),
    ("snow lighting", "parking:0.4 urgent:0.4 potholes:0.3"),
    ("bins rats", "complaint:0.6 recycling:0.4 drains:0.3"),
    ("playground benches", "thanks:0.7 trees:0.5 bins:0.3"),
    ("recycling", "thanks:0.5 bills:0.4 bins:0.4 parking:0.2"),
    ("trees", "thanks:0.4 leaks:0.2 benches:0.5 drains:0.3"),
    ("bills refunds", "complaint:0.5 thanks:0.2 fines:0.3 urgent:0.2"),
)
WRONG = 0.08  # how likely a note gets a matter drawn from all of them, whatever its affair
VAGUE = 0.65  # how likely the sentence about a matter is one that fits other matters as well

# Sentences about one matter alone.
CLEAR = {
    "potholes": "The pothole at the {place} swallows bicycles.|Two more potholes opened near the {place}.",
    "lighting": "The street lamps by the {place} stay off.|Not one lantern burns at the {place}.",
    "snow": "Nobody ploughs the snow at the {place}.|The pavement by the {place} is a sheet of ice and snow.",
    "parking": "There is nowhere to park near the {place}.|Cars are parked on both sides of the {place}.",
    "fines": "A warden gave me a ticket at the {place}.|I was fined beside the {place}.",
    "benches": "The benches around the {place} want paint.|Somebody made off with the bench by the {place}.",
    "trees": "The old elm beside the {place} drops branches.|The limes along the {place} were cut back.",
    "playground": "The swings next to the {place} hang askew.|Children love the slide at the {place}.",
    "leaks": "A main burst under the {place}.|The pipe beneath the {place} has been dripping for {number} days.",
    "drains": "The gutter at the {place} is blocked.|The sewer near the {place} overflows.",
    "bills": "My meter reading was {number} units too high.|The water account lists {number} units I never used.",
    "bins": "The dustmen skipped the {place} again.|The rubbish by the {place} was not collected.",
    "recycling": "The glass and paper banks at the {place} are full.|We sort cardboard and tins at the {place}.",
    "rats": "Rats live below the {place}.|I counted {number} rats at the {place}.",
    "refunds": "Please pay me {number} crowns back.|I expect to be reimbursed {number} crowns.",
    "complaint": "I am disappointed with your office.|This is the {number}th time I complain.",
    "thanks": "Many thanks to your crew.|I am grateful for the quick help.",
    "urgent": "Send somebody today.|This cannot wait until next week.",
}
# Sentences that fit several matters, with these matters.
SHARED = (
    ("Someone will fall at the {place} in the dark.", "lighting potholes snow"),
    ("One cannot walk past the {place} any more.", "snow potholes trees drains parking"),
    ("The ground by the {place} is wet all day.", "leaks drains snow"),
    ("There is a smell around the {place}.", "drains bins rats"),
    ("Bags lie open near the {place}.", "bins rats recycling"),
    ("Something at the {place} is broken.", "benches playground lighting leaks"),
    ("The sum of {number} crowns is not right.", "bills fines refunds"),
    ("I already paid {number} crowns.", "bills fines refunds parking"),
    ("Your letter about the {place} asks for too much.", "bills fines complaint"),
    ("I have written {number} times.", "complaint urgent refunds"),
    ("It looks different at the {place} since your crew came.", "thanks trees benches playground"),
    ("My neighbours at the {place} say the same.", "complaint thanks urgent"),
    ("Lorries cannot get round the {place}.", "parking trees potholes recycling snow"),
    ("The wood by the {place} is rotten.", "trees benches playground"),
    ("The lids at the {place} do not close.", "bins recycling drains"),
    ("It was better last year near the {place}.", "complaint lighting benches recycling"),
)
PLACES = (
    "mill|old bridge|fish market|north gate|school|chapel|station|tannery|bakery|town well|ferry|brewery|toll house|"
    "weighing house|library|smithy"
).split("|")
OPENINGS = "Dear council,|To whom it may concern,|Good morning,|A word from {name}:|Dear clerk,".split("|")
NAMES = "Agnes|Bruno|Cora|Dirk|Elsa|Finn|Gerda|Heinz|Inga|Jost".split("|")
FILLERS = (
    "I have lived by the {place} for {number} years.|We met at the {place} last month.|My dog does not mind.|"
    "It rained on {number} days.|The clock still runs late.|I write this on my knees."
).split("|")


def labels():
    """The lowest labels of the taxonomy, which are those that notes carry, in its order."""
    return list(dict.fromkeys(child for _, children in TAXONOMY for child in children.split()))


def draw_labels(rng):
    sure, odds = choice(rng, AFFAIRS)
    chosen = set(sure.split())
    for item in odds.split():
        label, chance = item.split(":")
        if rng.random() < float(chance):
            chosen.add(label)
    if rng.random() < WRONG:
        chosen.add(choice(rng, labels()))
    # Nobody thanks and complains at once.
    return [label for label in labels() if label in chosen and not (label == "thanks" and "complaint" in chosen)]


def sentence(rng, label):
    if rng.random() < VAGUE:
        return choice(rng, [text for text, fits in SHARED if label in fits.split()] or CLEAR[label].split("|"))
    return choice(rng, CLEAR[label].split("|"))


def draw_note(rng):
    """The text and its lowest labels."""
    chosen = draw_labels(rng)
    middle = [sentence(rng, label) for label in chosen]
    middle += [choice(rng, FILLERS) for _ in range(1 + int(2 * rng.random()))]
    # The order of the sentences must not show which label each of them is about.
    order = sorted(range(len(middle)), key=[rng.random() for _ in middle].__getitem__)
    parts = [choice(rng, OPENINGS), *(middle[place] for place in order)]
    # Two matters may have led to the same sentence.
    text = " ".join(dict.fromkeys(parts))
    for name, options in (("{place}", PLACES), ("{name}", NAMES)):
        while name in text:
            text = text.replace(name, choice(rng, options), 1)
    while "{number}" in text:
        text = text.replace("{number}", str(2 + int(38 * rng.random())), 1)
    return {"text": text, "labels": chosen}


def make(seed, sizes):
    """The notes of every split, by name; no two have the same text."""
    rng = random.Random(seed)
    return draw_different(lambda: draw_note(rng), sizes, key=lambda note: note["text"], unit="notes")


def render(notes):
    """The text of a split: a JSON object a line."""
    return "".join(json.dumps(note) + "\n" for note in notes)


def taxonomy():
    """The text of taxonomy.tsv: a line for each parent, with its children after it, separated by tabs."""
    return "".join("\t".join([parent, *children.split()]) + "\n" for parent, children in TAXONOMY)


def table(made):
    """A few counts of each split, as lines; only the lowest labels are counted."""
    lines = ["split  notes  words a note  labels a note  different label sets"]
    for split, notes in made.items():
        words = sum(len(note["text"].split()) for note in notes) / len(notes)
        number = sum(len(note["labels"]) for note in notes) / len(notes)
        sets = len({tuple(note["labels"]) for note in notes})
        lines.append(f"{split:<6} {len(notes):>5} {words:>13.1f} {number:>14.2f} {sets:>21}")
    return lines


def main(argv=None):
    write_sample(
        argv,
        "Write train, valid and test .jsonl files of notes with labels, and taxonomy.tsv.",
        out="data/text_sample",
        seed=53,
        sizes=dict(zip(SPLITS, (500, 150, 200))),
        unit="notes",
        make=make,
        files=lambda made: (
            {f"{split}.jsonl": render(notes) for split, notes in made.items()} | {"taxonomy.tsv": taxonomy()}
        ),
        table=table,
    )


if __name__ == "__main__":
    main()
