"""Join the English Web Treebank's frames, of PropBank, with its words, of Universal Dependencies.

    git clone https://github.com/propbank/propbank-release data/propbank-release
    git clone https://github.com/UniversalDependencies/UD_English-EWT data/UD_English-EWT
    python scripts/samples/join_ewt.py data/propbank-release data/UD_English-EWT data/ewt_propbank_srl

writes train, dev and test as `*.gold_conll` in CoNLL-2012 columns. Both sources have the licence CC BY-SA 4.0.

PropBank's files (`data/google/ewt/**/*.gold_skel`) have everything but the words, and the treebank's
(`not-to-release/sources/**/*.conllu`) have those. PropBank's lists (`docs/evaluation/ewt.*.txt`) say which documents
each part has, in which order. Within a document, sentences are paired in order, and so that the most words agree. Two
are a pair only if they have as many words, and of three words and more 70 % the same part of speech. A sentence
without a partner is left out: the treebank came to split its words in another way, or changed their parts of speech.

The parts of speech are PropBank's. In a word such as `:)` a bracket becomes -LRB- or -RRB-, and a backslash a slash,
for readers that make trees of the rows. A predicate of several words (`over power`) may have its lemma on another word
than that on which its `(V` begins; then it has none here. PropBank's notes say that a few arguments of a predicate
overlap: then the first is kept, of those that begin together the longest, and the verb always.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from sample_command import bracket_column, write

PROPBANK, TREEBANK = "propbank/propbank-release", "UniversalDependencies/UD_English-EWT"
FRAMES, WORDS = Path("data", "google", "ewt"), Path("not-to-release", "sources")  # their folders in these
PARTS = ("train", "dev", "test")
AGREEING_TAGS = 0.7  # the share of a sentence's words
TOO_SHORT = 2  # words of a sentence whose tags are not asked
TAG, LEMMA, ROLESET, FIRST_ROLE = 4, 6, 7, 8  # columns of gold_skel, counted from 0
OTHER_WORDS, OTHER_TAGS = "sentences whose words are split in another way", "sentences whose parts of speech differ"
NOT_IN_PROPBANK, NOT_IN_TREEBANK = "documents not in PropBank's release", "documents not in the treebank"


def list_of(propbank, part):
    """The file that lists a part's documents."""
    return propbank / "docs" / "evaluation" / f"ewt.{part}.txt"


def blocks(path):
    """The lines of each sentence of a file, which empty lines part."""
    text = path.read_text(encoding="utf-8")
    return [block.split("\n") for block in re.split(r"\n\n+", text.strip("\n")) if block]


def read_skeletons(path):
    """PropBank's sentences: a list of columns for each word."""
    return [[line.split() for line in block] for block in blocks(path)]


def read_words(path):
    """The treebank's sentences: each word with its part of speech. Contractions (`2-3`) and empty nodes are none."""
    sentences = []
    for block in blocks(path):
        rows = [line.split("\t") for line in block if not line.startswith("#")]
        sentences.append([(row[1], row[4]) for row in rows if row[0].isdigit()])
    return sentences


def agreeing(skeleton, words):
    """How many words have the part of speech of both, or `None` if the two are not the same sentence."""
    if len(skeleton) != len(words):
        return None
    count = sum(row[TAG] == tag for row, (_, tag) in zip(skeleton, words))
    return count if count >= AGREEING_TAGS * len(words) or len(words) <= TOO_SHORT else None


def paired(skeletons, sentences):
    """
    The index of each skeleton's sentence, or `None`: in order, and so that the most words agree. `most[i][j]` is how
    many of them do from skeleton `i` and sentence `j` on.
    """
    counts = [[agreeing(skeleton, words) for words in sentences] for skeleton in skeletons]
    most = [[0] * (len(sentences) + 1) for _ in range(len(skeletons) + 1)]
    for i in reversed(range(len(skeletons))):
        for j in reversed(range(len(sentences))):
            most[i][j] = max((counts[i][j] or 0) + most[i + 1][j + 1], most[i + 1][j], most[i][j + 1])
    partners, i, j = [None] * len(skeletons), 0, 0
    while i < len(skeletons) and j < len(sentences):
        if most[i][j] == (counts[i][j] or 0) + most[i + 1][j + 1]:
            partners[i] = j if counts[i][j] is not None else None
            i, j = i + 1, j + 1
        elif most[i][j] == most[i][j + 1]:
            j += 1
        else:
            i += 1
    return partners


def reasons(skeletons, sentences, partners):
    """The reason why a skeleton has no partner, by the sentences in the partner's place."""
    for i, partner in enumerate(partners):
        if partner is None:
            before = max((j for j in partners[:i] if j is not None), default=-1)
            after = min((j for j in partners[i:] if j is not None), default=len(sentences))
            lengths = {len(words) for words in sentences[before + 1 : after]}
            yield OTHER_TAGS if len(skeletons[i]) in lengths else OTHER_WORDS


def spans(cells):
    """The arguments of a column of brackets, none of which overlap: first word, last word, role."""
    found, opened = [], []
    for index, cell in enumerate(cells):
        opened += [(role, index) for role in re.findall(r"\(([^()*]+)", cell)]
        for _ in range(min(cell.count(")"), len(opened))):
            found.append((*opened.pop(), index))
    kept = []
    for role, first, last in sorted(found, key=lambda span: (span[0] != "V", span[1], -span[2])):
        if all(last < start or end < first for start, end, _ in kept):
            kept.append((first, last, role))
    return kept


def readable(word):
    return word if word in ("(", ")") else word.replace("(", "-LRB-").replace(")", "-RRB-").replace("\\", "/")


def conll(document, skeleton, words):
    """A sentence in CoNLL-2012 columns. A column without a verb is left out: nothing says whose arguments it has."""
    length = len(words)
    frames = [spans(cells) for cells in zip(*(row[FIRST_ROLE:] for row in skeleton))]
    frames = [arguments for arguments in frames if any(role == "V" for _, _, role in arguments)]
    verbs = {first for arguments in frames for first, _, role in arguments if role == "V"}
    parse = bracket_column([(0, length - 1, "TOP")], length)
    roles = [bracket_column(arguments, length) for arguments in frames]
    lines = []
    for index, (row, (word, _)) in enumerate(zip(skeleton, words)):
        lemma, sense = (row[LEMMA], row[ROLESET].rpartition(".")[2]) if index in verbs else ("-", "-")
        cells = [document, "0", str(index), readable(word), row[TAG], parse[index], lemma, sense, "-", "-", "*"]
        lines.append("   ".join([*cells, *(cells_of_frame[index] for cells_of_frame in roles), "-"]))
    return "\n".join(lines) + "\n\n"


def join(propbank, treebank, part):
    """The text of a part's file, how many sentences and documents it has, and what was left out, by reason."""
    texts, written, dropped, absent = [], Counter(), Counter(), Counter()
    names = list_of(propbank, part).read_text(encoding="utf-8").split()
    for name in (name.removesuffix(".conllu") for name in names):
        genre, _, file = name.split("/")
        skeletons_path = propbank / FRAMES / f"{name}.gold_skel"
        words_path = treebank / WORDS / genre / f"{file}.conllu"
        if not skeletons_path.is_file() or not words_path.is_file():
            absent[NOT_IN_TREEBANK if skeletons_path.is_file() else NOT_IN_PROPBANK] += 1
            continue
        skeletons, sentences = read_skeletons(skeletons_path), read_words(words_path)
        partners = paired(skeletons, sentences)
        dropped.update(reasons(skeletons, sentences, partners))
        document = f"{genre}-{file.removesuffix('.xml')}"
        joined = [conll(document, rows, sentences[j]) for rows, j in zip(skeletons, partners) if j is not None]
        if joined:
            texts.append(f"#begin document ({document}); part 000\n{''.join(joined)}#end document\n")
        written.update(documents=int(bool(joined)), sentences=len(joined))
    return "".join(texts), written, dropped, absent


def told(part, written, dropped, absent):
    left_out = ", ".join(f"{reason} ({count})" for reason, count in (*dropped.items(), *absent.items()))
    sentences, documents = written["sentences"], written["documents"]
    return f"{part}.gold_conll: {sentences} sentences of {documents} documents; left out: {left_out or 'nothing'}"


def parser():
    formatter = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    result.add_argument("propbank", type=Path, metavar="PROPBANK_RELEASE", help="the clone of propbank-release")
    result.add_argument("treebank", type=Path, metavar="UD_ENGLISH_EWT", help="the clone of UD_English-EWT")
    result.add_argument("out", type=Path, metavar="OUT", help="folder for the files, such as data/ewt_propbank_srl")
    return result


def main(argv=None):
    command = parser()
    arguments = command.parse_args(argv)
    propbank, treebank = arguments.propbank, arguments.treebank
    needed = [(PROPBANK, list_of(propbank, part)) for part in PARTS]
    needed += [(PROPBANK, propbank / FRAMES), (TREEBANK, treebank / WORDS)]
    for repository, path in needed:
        if not path.exists():
            command.error(f"there is no {path}: this takes a clone of github.com/{repository}.")
    joined = {part: join(propbank, treebank, part) for part in PARTS}
    for part, (text, *_) in joined.items():
        if not text:
            command.error(f"no sentence of {part} is in both {propbank} and {treebank}.")
    try:
        write(arguments.out, {f"{part}.gold_conll": text for part, (text, *_) in joined.items()})
    except OSError as error:
        command.error(f"{arguments.out} cannot be written to ({error.strerror}).")
    for part, (_, *counts) in joined.items():
        print(told(part, *counts))


if __name__ == "__main__":
    main()
