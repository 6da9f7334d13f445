"""Write the embedded semantic-role sample: English sentences with frames, in CoNLL-2012 columns.

    python scripts/samples/make_srl_sample.py --out data/srl_sample --seed 13 --train 2400 --dev 400 --test 600

A small grammar (`srl_sample_grammar.py`) makes the sentences from word lists (`srl_sample_lexicon.py`);
both were written for this sample. The same seed and sizes always give the same bytes. Some nouns, names,
modifiers and predicates are held out: they occur in dev and test but never in train. A held-out verb belongs
to a class whose other verbs occur in train, so its frame can be inferred from the sentence around it.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from sample_command import bracket_column, write_sample
from srl_sample_grammar import Lexicon, Writer

SPLITS = ("train", "dev", "test")
DOCUMENT_SENTENCES = 100
MAX_TRIES_PER_SENTENCE = 60


def write_split(writer, count, seen):
    """`count` sentences that no split has yet; `seen` collects their words."""
    sentences, tries = [], 0
    while len(sentences) < count:
        tries += 1
        if tries > MAX_TRIES_PER_SENTENCE * count + 1000:
            raise ValueError(f"The grammar made only {len(sentences)} different sentences, not {count}.")
        made = writer.sentence()
        key = " ".join(token.word for token in made[0]).lower() if made else None
        if key and key not in seen:
            seen.add(key)
            sentences.append(made)
    return sentences


def render(sentences, split):
    """The text of a split: documents of sentences, one row a token, columns set apart by one space."""
    lines = []
    for number, (tokens, frames) in enumerate(sentences):
        document = f"{split}{number // DOCUMENT_SENTENCES:02d}"
        if number % DOCUMENT_SENTENCES == 0:
            lines.append(f"#begin document ({document}); part 000")
        predicates = {
            next(start for start, _, label in spans if label == "V"): (lemma, sense) for lemma, sense, spans in frames
        }
        columns = [bracket_column(spans, len(tokens)) for _, _, spans in frames]
        parse = bracket_column([(0, len(tokens) - 1, "TOP")], len(tokens))
        for place, token in enumerate(tokens):
            row = [document, "0", str(place), token.word, token.pos, parse[place]]
            row += [*predicates.get(place, "--"), "-", "-", "*"]
            lines.append(" ".join(row + [column[place] for column in columns] + ["-"]))
        lines.append("")
        if number % DOCUMENT_SENTENCES == DOCUMENT_SENTENCES - 1 or number == len(sentences) - 1:
            lines.append("#end document")
    return "\n".join(lines) + "\n"


def make(seed, sizes):
    """The sentences of every split, by name, from one generator seeded with `seed`."""
    rng = random.Random(seed)
    words = Lexicon(rng)
    seen = set()
    return {split: write_split(Writer(rng, words, split == "train"), sizes[split], seen) for split in SPLITS}


def table(made):
    """A few counts of each split, as lines; `unseen` is the share of words or lemmas that train does not have."""
    lines = ["split   sentences  tokens  frames   roles  unseen nouns  unseen modifiers  unseen predicates"]
    vocabulary = {token.word.lower() for tokens, _ in made["train"] for token in tokens}
    lemmas = {lemma for _, frames in made["train"] for lemma, _, _ in frames}

    def share(unseen, known):
        unseen = list(unseen)
        return f"{100 * sum(item not in known for item in unseen) / max(1, len(unseen)):.1f} %"

    for split, sentences in made.items():
        tokens = [token for tokens, _ in sentences for token in tokens]
        frames = [frame for _, frames in sentences for frame in frames]
        roles = sum(len(spans) - 1 for _, _, spans in frames)  # V is not a role
        nouns = share((t.word.lower() for t in tokens if t.pos.startswith("NN")), vocabulary)
        modifiers = share((t.word.lower() for t in tokens if t.pos in ("JJ", "RB")), vocabulary)
        predicates = share((lemma for lemma, _, _ in frames), lemmas)
        lines.append(
            f"{split:<7} {len(sentences):>9} {len(tokens):>7} {len(frames):>7} {roles:>7} "
            f"{nouns:>13} {modifiers:>17} {predicates:>18}"
        )
    return lines


def main(argv=None):
    write_sample(
        argv,
        "Write train, dev and test .gold_conll files of grammar-made sentences with roles.",
        out="data/srl_sample",
        seed=13,
        sizes=dict(zip(SPLITS, (2400, 400, 600))),
        unit="sentences",
        make=make,
        files=lambda made: {f"{split}.gold_conll": render(sentences, split) for split, sentences in made.items()},
        table=table,
    )


if __name__ == "__main__":
    main()
