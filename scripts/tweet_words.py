"""
How many words of tweets that were split by hand a tokenizer finds again. The data have no raw text, so it is made of
the words in two ways: all set apart by blanks, and with punctuation joined to the word beside it, as people write.

    python scripts/tweet_words.py data/oct27.train data/oct27.dev --tokenizer tweets
"""

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterable

from seal.predictors.words import SPLITTERS

# What people write without a blank before it, and without one after it.
_CLOSING = re.compile(r"[.,!?:;)\]}\u2026\u201d\u2019]+")
_OPENING = re.compile(r"[(\[{\u201c\u2018]+")


def read_tweets(path: str) -> list[list[str]]:
    """The words of each tweet of a file with a word in the first column, and empty lines between tweets."""
    with open(path, encoding="utf-8") as file:
        blocks = itertools.groupby(file, key=lambda line: line.strip() != "")
        return [[line.split("\t")[0] for line in block] for is_tweet, block in blocks if is_tweet]


def written(words: list[str], joined: bool) -> tuple[str, list[tuple[int, int]]]:
    """A text of the words, and the place of each word in it."""
    text, places = "", []
    for index, word in enumerate(words):
        attached = joined and (_CLOSING.fullmatch(word) or (index > 0 and _OPENING.fullmatch(words[index - 1])))
        text += "" if index == 0 or attached else " "
        places.append((len(text), len(text) + len(word)))
        text += word
    return text, places


def found_again(tweets: Iterable[list[str]], tokenizer: str, joined: bool) -> tuple[float, float, Counter]:
    """The share of words that are found again, that of tweets all of whose words are, and the other words."""
    splitter, words_found, tweets_found, lost = SPLITTERS[tokenizer](), 0, 0, Counter()
    tweets = list(tweets)
    for words in tweets:
        text, places = written(words, joined)
        found = {tuple(place) for place in splitter.split(text).offsets}
        missing = [word for word, place in zip(words, places) if place not in found]
        lost.update(missing)
        words_found += len(words) - len(missing)
        tweets_found += not missing
    return words_found / sum(map(len, tweets)), tweets_found / len(tweets), lost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--tokenizer", default="tweets", choices=sorted(SPLITTERS))
    parser.add_argument("--show", type=int, default=0, help="list so many of the words that are not found")
    arguments = parser.parse_args()
    for path in arguments.files:
        tweets = read_tweets(path)
        for joined, name in ((False, "apart"), (True, "joined")):
            words, whole, lost = found_again(tweets, arguments.tokenizer, joined)
            print(f"{path}, punctuation {name}: {100 * words:.2f} % of words, {100 * whole:.1f} % of whole tweets")
            for word, count in lost.most_common(arguments.show):
                print(f"  {count} {word}")


if __name__ == "__main__":
    main()
