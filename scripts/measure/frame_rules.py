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

from seal.common.tag_encodings import Span, spans_to_bio, tags_to_spans
from seal.tasks.base.sentence_reader import LegalTags
from seal.tasks.srl.data_files import read_srl_sentences
from seal.tasks.srl.srl_score import CORE_ROLES, SrlScore


class Frame(NamedTuple):
    sentence: str
    lemma: str
    predicate: int
    tags: list[str]

    @property
    def arguments(self) -> set[Span]:
        return {span for span in tags_to_spans(self.tags) if span[0] != "V"}


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
        Frame(sentence.source, (frame.lemma or sentence.words[frame.predicate]).lower(), frame.predicate, frame.tags)
        for sentence in read_srl_sentences(path, LegalTags("BIO", False), "head")
        for frame in sentence.frames
    ]


def predicted(path: str, gold: list[Frame]) -> list[Frame]:
    """The predictions at the predicates of gold."""
    tags = {}
    with open(path, encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["predicates"] == "given":
                tags.update({(record["id"], frame["index"]): frame["tags"] for frame in record["frames"]})
    return [frame._replace(tags=tags[frame.sentence, frame.predicate]) for frame in gold]


def lexicon(frames: Iterable[Frame], least: int) -> dict[str, set[str]]:
    """The core roles of each lemma that has at least `least` frames."""
    count, roles = Counter(), defaultdict(set)
    for frame in frames:
        count[frame.lemma] += 1
        roles[frame.lemma] |= {span[0] for span in frame.arguments} & CORE_ROLES
    return {lemma: roles[lemma] for lemma in count if count[lemma] >= least}


def outside(frames: list[Frame], roles: dict[str, set[str]]) -> list[set[Span]]:
    """The arguments of each frame whose core role its lemma lacks."""
    return [
        {span for span in frame.arguments if span[0] in CORE_ROLES - roles.get(frame.lemma, CORE_ROLES)}
        for frame in frames
    ]


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
    """The frame with gold's arguments, where they overlap with those that break a rule, in the place of its own."""
    right = {one for one in gold.arguments if overlaps(one, broken)}
    kept = {one for one in set(tags_to_spans(frame.tags)) - broken if not overlaps(one, right)}
    return frame._replace(tags=spans_to_bio(sorted(kept | right, key=lambda span: span[1]), len(frame.tags)))


def overlaps(one: Span, others: set[Span]) -> bool:
    return any(one[1] <= other[2] and other[1] <= one[2] for other in others)


def scores(frames: list[Frame], gold: list[Frame]) -> str:
    score = SrlScore()
    score([frame.tags for frame in frames], [frame.tags for frame in gold])
    found = score.get_metric()
    return f"{found['f1']:.2f}, {found['exact_match']:.2f}"


if __name__ == "__main__":
    main()
