"""How many words of tweets a tokenizer finds again: `scripts/tweet_words.py`."""

from pathlib import Path

import pytest

from scripts.tweet_words import found_again, read_tweets, written


def test_texts_of_the_words():
    words = ["so", "(", "he", "says", ")", "!", "#hi"]
    text, places = written(words, joined=True)
    assert text == "so (he says)! #hi" and [text[start:end] for start, end in places] == words
    assert written(words, joined=False)[0] == "so ( he says ) ! #hi"


def test_the_share_that_is_found_again(tmp_path):
    path = tmp_path / "tweets.txt"
    path.write_text("hi\tA\nyou.\tB\n\nyes\tA\n!!\tB\n")
    tweets = read_tweets(str(path))
    assert tweets == [["hi", "you."], ["yes", "!!"]]
    words, whole, lost = found_again(tweets, "tweets", joined=False)
    assert (words, whole, dict(lost)) == (0.75, 0.5, {"you.": 1})
    # A blank is needed.
    assert found_again(tweets, "white_space", joined=True)[0] == 0.5


@pytest.mark.parametrize("part", ["train", "dev"])
def test_tweets_that_were_split_by_hand(part):
    path = Path("data", "twitter_pos", f"oct27.{part}")
    if not path.exists():
        pytest.skip(f"the data is not in {path}")
    tweets = read_tweets(str(path))
    for joined in (False, True):
        words, whole, _ = found_again(tweets, "tweets", joined)
        # 97.4 % and 73 % by NLTK's rules alone.
        assert words > 0.988 and whole > 0.865
