"""
Learn word vectors for the tweets of `data/twitter_pos` from the text of the data sets that are here, by skip-gram.

    pip install gensim==4.4.0
    python scripts/tweet_vectors.py results/vectors/tweets_words.txt
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from gensim.models import Word2Vec

DATA = Path(__file__).resolve().parents[1] / "data"
TWEETS = [DATA / "twitter_pos" / f"oct27.{part}" for part in ("train", "dev", "test")]
WORDS = re.compile(r"[@#]?\w+(?:['’]\w+)*|[^\w\s]+")


def words_of_columns(path: Path) -> Iterator[list[str]]:
    """The sentences of a file with a word and its tag in each row; tags are not read."""
    words: list[str] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("# ") and "\t" not in line:
            continue
        if line.strip():
            words.append(line.split("\t")[0].lower())
        elif words:
            yield words
            words = []


def main(out: Path) -> None:
    tagged = [*TWEETS, DATA / "wnut17" / "wnut17train.conll", DATA / "ud_ewt_pos" / "train.tsv"]
    text = [sentence for path in tagged for sentence in words_of_columns(path)]
    comments = (DATA / "goemotions" / "train.tsv").read_text(encoding="utf-8").splitlines()
    text += [WORDS.findall(line.split("\t")[0].lower()) for line in comments]
    for line in (DATA / "reuters21578" / "train.jsonl").read_text(encoding="utf-8").splitlines():
        news = json.loads(line)
        text.append(WORDS.findall(f"{news['title']} {news['text']}".lower()))
    print(f"{len(text)} texts, {sum(map(len, text))} words")
    # One worker, so that the vectors are the same each time (with PYTHONHASHSEED=0).
    settings = {"vector_size": 100, "sg": 1, "window": 1, "min_count": 1, "negative": 10, "epochs": 10, "seed": 1}
    vectors = Word2Vec(text, workers=1, **settings).wv
    used = {word for path in TWEETS for sentence in words_of_columns(path) for word in sentence}
    kept = [word for word in vectors.index_to_key if word in used and not re.search(r"\s", word)]
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as file:
        file.write(f"{len(kept)} 100\n")
        for word in kept:
            file.write(f"{word} {' '.join(f'{number:.5f}' for number in vectors[word])}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
