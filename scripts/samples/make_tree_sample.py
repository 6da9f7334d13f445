"""Write the embedded sample of trees: English sentences with constituents, in the Penn Treebank's brackets.

    python scripts/samples/make_tree_sample.py --out data/trees_sample --seed 13 --train 2000 --dev 300 --test 300

A small grammar (`tree_sample_grammar.py`) makes the trees, from the words and frames of the SRL sample
(`srl_sample_lexicon.py`); both were written for this project. The same seed and sizes always give the same bytes. Some
nouns, names, modifiers and verbs are held out: they occur in dev and test but never in train.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from make_srl_sample import SPLITS, write_split
from sample_command import write_sample
from srl_sample_grammar import Lexicon
from tree_sample_grammar import Node, TreeWriter


def make(seed, sizes):
    """The sentences of every split, by name, as (tokens, tree), from one generator seeded with `seed`."""
    rng = random.Random(seed)
    words = Lexicon(rng)
    seen = set()
    return {split: write_split(TreeWriter(rng, words, split == "train"), sizes[split], seen) for split in SPLITS}


def constituents(tree):
    """A tree's constituents that have words, the tree itself first."""
    if any(True for _ in tree.tokens()):
        yield tree
        for child in tree:
            if isinstance(child, Node):
                yield from constituents(child)


def category(node):
    """The label without function tags; of a token, its part of speech."""
    return node.label.split("-")[0] if isinstance(node, Node) else node.pos


def attachments(tree):
    """
    Of each prepositional phrase right behind an object's noun: the words that decide where it hangs, which are verb,
    noun, preposition and the noun in the phrase, and whether it hangs on the noun.
    """
    for phrase in constituents(tree):
        if category(phrase) != "VP":
            continue
        children = [child for child in phrase if not isinstance(child, Node) or any(True for _ in child.tokens())]
        for verb, child, following in zip(children, children[1:], [*children[2:], None]):
            if isinstance(verb, Node) or category(child) != "NP":
                continue
            on_noun = isinstance(child[0], Node) and len(child) > 1 and category(child[1]) == "PP"
            found = child[1] if on_noun else following
            if found is not None and category(found) == "PP":
                yield (verb.word, head(child).word, found[0].word, head(found[-1]).word), on_noun


def head(phrase):
    """The noun of a noun phrase, the first of two coordinated ones; the last word of another phrase."""
    while category(phrase) == "NP" and isinstance(phrase[0], Node) and isinstance(phrase[-1], Node):
        phrase = phrase[0]
    return list(phrase.tokens())[-1]


def table(made):
    """A few counts of each split, as lines; `unseen` is the share of nouns that train does not have."""
    lines = ["split   sentences  words  brackets  labels  after objects  on the noun  unseen nouns"]
    vocabulary = {token.word.lower() for tokens, _ in made["train"] for token in tokens}
    for split, sentences in made.items():
        nodes = [node for _, tree in sentences for node in constituents(tree)]
        hang = [on_noun for _, tree in sentences for _, on_noun in attachments(tree)]
        nouns = [token.word.lower() for tokens, _ in sentences for token in tokens if token.pos.startswith("NN")]
        unseen = sum(noun not in vocabulary for noun in nouns)
        lines.append(
            f"{split:<7} {len(sentences):>9} {sum(len(tokens) for tokens, _ in sentences):>6} "
            f"{len(nodes):>9} {len({category(node) for node in nodes}):>7} {len(hang):>14} "
            f"{100 * sum(hang) / max(1, len(hang)):>10.1f} % {100 * unseen / max(1, len(nouns)):>11.1f} %"
        )
    return lines


def files(made):
    return {
        f"{split}.mrg": "".join(f"( {tree.brackets()})\n" for _, tree in sentences) for split, sentences in made.items()
    }


def main(argv=None):
    write_sample(
        argv,
        "Write train, dev and test .mrg files of grammar-made sentences with their trees.",
        out="data/trees_sample",
        seed=13,
        sizes=dict(zip(SPLITS, (2000, 300, 300))),
        unit="sentences",
        make=make,
        files=files,
        table=table,
    )


if __name__ == "__main__":
    main()
