import pytest
from allennlp.data import Vocabulary

from seal.tasks.base.words import EnglishSplitter, SplitAsTrained, TweetSplitter, WhiteSpaceSplitter
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging.reader import TaggingReader

#: How a treebank, newspapers and typewriters write.
TREEBANK = "He said `` it -LRB- really -RRB- works '' ... -LCB- well - known -- yes -RCB- , did n't".split()
NEWSPAPER = "He said \u201c it ( really ) works \u201d \u2026 [ well-known \u2014 yes ] , did n\u2019t".split()
TYPED = "He said \" it ( really ) works \" ... [ well-known - yes ] , did n't don't".split()


def split(trained_on, text, splitter=EnglishSplitter, reader=TaggingReader):
    instances = [reader().text_to_instance(words, tags=["O"] * len(words)) for words in trained_on]
    for instance in instances:
        reader().apply_token_indexers(instance)
    sequence, words = SplitAsTrained(splitter(), Vocabulary.from_instances(instances))(text)
    assert [text[start:end] for start, end in sequence.offsets] == sequence.words
    assert len(words) == len(sequence.words)
    return words


@pytest.mark.parametrize(
    "trained_on, text, expected",
    [
        (TREEBANK, '"It (really) works"', "`` It -LRB- really -RRB- works ''"),
        (TREEBANK, "\u201cIt (really) works\u201d\u2026", "`` It -LRB- really -RRB- works '' ..."),
        (TREEBANK, "``It {really} works''", "`` It -LCB- really -RCB- works ''"),
        (TREEBANK, "a well\u2010known \u2014 did n\u2019t", "a well - known -- did n't"),
        (TREEBANK, '" it "', "`` it ''"),
        (TREEBANK, 'He said, "yes." "No!"', "He said , `` yes . '' `` No ! ''"),
        (TREEBANK, "(\"so\") '' [x]", "-LRB- `` so '' -RRB- '' [ x ]"),
        (NEWSPAPER, '"It (really) works"...', "\u201c It ( really ) works \u201d \u2026"),
        (NEWSPAPER, "``It works'' -- yes", "\u201c It works \u201d \u2014 yes"),
        (NEWSPAPER, "-LRB- so -RRB-", "( so )"),
        (NEWSPAPER, "a well-known, state-of-the-art one - 1-2", "a well-known , state-of-the-art one \u2014 1 - 2"),
        (TYPED, "\u201cIt works\u201d \u2026", '" It works " ...'),
        (TYPED, "``It works'' \u2014 well\u2011known", '" It works " - well-known'),
        (TYPED, "don\u2019t -LRB- x", "do n't ( x"),
        (TYPED, "\u00abso\u00bb", '" so "'),
    ],
)
@pytest.mark.parametrize("reader", [TaggingReader, SrlReader])
def test_as_the_training_data_are_written(trained_on, text, expected, reader):
    assert split([trained_on], text, reader=reader) == expected.split()


@pytest.mark.parametrize("splitter", [EnglishSplitter, TweetSplitter, WhiteSpaceSplitter])
def test_forms_that_the_training_data_have_stay(splitter):
    both = [TREEBANK, TREEBANK, NEWSPAPER]
    text = "`` a '' ( b ) \u201c c \u201d ... \u2026 -LRB- d -RRB-"
    words = split(both, text, WhiteSpaceSplitter)
    assert words == text.split()
    assert split(both, "a ( b ) \u201c c \u201d ...", splitter) == "a ( b ) \u201c c \u201d ...".split()
