"""
What two rules about roles could gain: how often a model's predictions break them, and the scores if all that breaks one
were right. The rules are the second and third of structured tuning (Li et al. 2020): arguments of two predicates of a
sentence do not cross, and a predicate has no core role that its lexicon lacks.

```sh
seal predict english-srl dev.gold_conll --use-dataset-reader --output-file predictions.jsonl
python -m scripts.measure.frame_rules --train train.gold_conll --dev dev.gold_conll predictions.jsonl
```
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from seal.common.tag_encodings import Span, tags_to_spans
from seal.tasks.base.sentence_reader import LegalTags
from seal.tasks.srl.data_files import read_srl_sentences

CORE = {f"ARG{number}" for number in range(6)}


class Frame(NamedTuple):
    sentence: str
    lemma: str
    predicate: int
    arguments: frozenset[Span]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predictions", nargs="+", help="files of `seal predict --use-dataset-reader`")
    parser.add_argument("--train", required=True, help="the data of the lexicon")
    parser.add_argument("--dev", required=True, help="the data that are predicted")
    arguments = parser.parse_args()
    train, gold = frames_of(arguments.train), frames_of(arguments.dev)
    lexicons = {
        "lemmas with 5 or more frames in train": lexicon(train, 5),
        "all lemmas, by train and dev": lexicon([*train, *gold], 1),
    }
    print("| predictions | rule | broken by gold; predicted | F1, exact | if all that breaks it were right |")
    print("|---|---|---|---|---|")
    for path in arguments.predictions:
        found = predicted(path, gold)
        told = [("no crossing arguments", crossing(found), crossing(gold))]
        told += [
            (f"a lexicon of {name}", outside(found, roles), outside(gold, roles)) for name, roles in lexicons.items()
        ]
        for rule, broken, by_gold in told:
            best = [corrected(one, other, spans) for one, other, spans in zip(found, gold, broken)]
            counts = f"{sum(map(len, by_gold))}; {sum(map(len, broken))}"
            print(f"| {path} | {rule} | {counts} | {scores(found, gold)} | {scores(best, gold)} |")


def frames_of(path: str) -> list[Frame]:
    return [
        Frame(
            sentence.source,
            (frame.lemma or sentence.words[frame.predicate]).lower(),
            frame.predicate,
            spans(frame.tags),
        )
        for sentence in read_srl_sentences(path, LegalTags("BIO", False), "head")
        for frame in sentence.frames
    ]


def spans(tags: list[str]) -> frozenset[Span]:
    return frozenset(span for span in tags_to_spans(tags) if span[0] != "V")


def predicted(path: str, gold: list[Frame]) -> list[Frame]:
    """The predictions at the predicates of gold."""
    tags = {}
    with open(path, encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["predicates"] == "given":
                tags.update({(record["id"], frame["index"]): frame["tags"] for frame in record["frames"]})
    return [frame._replace(arguments=spans(tags[frame.sentence, frame.predicate])) for frame in gold]


def lexicon(frames: Iterable[Frame], least: int) -> dict[str, set[str]]:
    """The core roles of each lemma that has at least `least` frames."""
    count, roles = Counter(), defaultdict(set)
    for frame in frames:
        count[frame.lemma] += 1
        roles[frame.lemma] |= {span[0] for span in frame.arguments} & CORE
    return {lemma: roles[lemma] for lemma in count if count[lemma] >= least}


def outside(frames: list[Frame], roles: dict[str, set[str]]) -> list[set[Span]]:
    """The arguments of each frame whose core role its lemma lacks."""
    return [{span for span in frame.arguments if span[0] in CORE - roles.get(frame.lemma, CORE)} for frame in frames]


def crossing(frames: list[Frame]) -> list[set[Span]]:
    """The arguments of each frame that cross one of another frame of its sentence."""
    found: list[set[Span]] = [set() for _ in frames]
    of_sentence = defaultdict(list)
    for place, frame in enumerate(frames):
        of_sentence[frame.sentence].append(place)
    for places in of_sentence.values():
        for one, other in combinations(places, 2):
            for u in frames[one].arguments:
                for v in frames[other].arguments:
                    if u[1] < v[1] <= u[2] < v[2] or v[1] < u[1] <= v[2] < u[2]:
                        found[one].add(u)
                        found[other].add(v)
    return found


def corrected(frame: Frame, gold: Frame, broken: set[Span]) -> Frame:
    """The frame with gold's arguments in the place of those that break a rule: those that overlap with them."""
    touched = {g for g in gold.arguments if any(g[1] <= span[2] and span[1] <= g[2] for span in broken)}
    return frame._replace(arguments=(frame.arguments - broken) | touched)


def scores(frames: list[Frame], gold: list[Frame]) -> str:
    both = sum(len(one.arguments & other.arguments) for one, other in zip(frames, gold))
    number = sum(len(frame.arguments) for frame in [*frames, *gold])
    exact = sum(one.arguments == other.arguments for one, other in zip(frames, gold))
    return f"{200 * both / number:.2f}, {100 * exact / len(gold):.2f}"


if __name__ == "__main__":
    main()
