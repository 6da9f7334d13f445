import pytest
from allennlp.data import Vocabulary

from seal.files.names import check_name, check_text, clean_label, clean_name
from tests.one_sentence import message_of

FIT = ["a", "", "a b", "a\rb", "\u00e9\u2028", "\U0001f600", "a\nb", " a"]


def test_names_that_pass_come_back_from_the_files_of_a_vocabulary(tmp_path):
    vocab = Vocabulary()
    for name in FIT:
        check_name(name, "the label")
        vocab.add_token_to_namespace(name, "labels")
    vocab.save_to_files(str(tmp_path))
    back = Vocabulary.from_files(str(tmp_path)).get_token_to_index_vocabulary("labels")
    assert back == vocab.get_token_to_index_vocabulary("labels")


UNSEEN = ["a\u00a0", "a\u200b", "\ufeffa", "a\u00adb", "a\u2060b", "a\u202f", "a\u3000b", "a\u3164", "a\u200d"]
UNSEEN += ["a\ufe0f", "\u202ea", "a\u2028b", "a\tb", "a\rb", "a\u034f", "\u0645\u200c"]
#: A check, a name that it refuses, and what the message must name.
REFUSED = [
    *((check_name, name, ascii(name)) for name in ("a\r", "a\n", "\ta", "\x7f", "a\x85")),
    *((check_name, name, name) for name in ("@@UNKNOWN@@", "@@PADDING@@")),
    *((clean_label, name, repr(name)) for name in (" a", "a ", "", " ")),
    *((check, "a\udc80b", r"\udc80") for check in (clean_label, check_name, check_text)),
    *((clean_name, name, "U+") for name in UNSEEN),
]


@pytest.mark.parametrize("check, name, named", REFUSED)
def test_a_name_that_is_refused(check, name, named):
    told = message_of(check, name, "f:1: the name")
    assert told.startswith("f:1: the name ") and named in told and told.isprintable()


SEEN = ["a", "a b", "B-ARG0", "-LRB-", "caf\u00e9", "\u0627\u0644\u0639", "\u0645\u06cc\u200c\u062e"]
SEEN += ["\u2764\ufe0f", "\U0001f469\u200d\U0001f52c"]


@pytest.mark.parametrize("name", SEEN)
def test_names_that_are_seen_as_they_are(name):
    assert clean_name(name, "the tag") == name


ALIKE = [("cafe\u0301", "caf\u00e9"), ("A\u030a", "\u212b"), ("\u1112\u1161\u11ab", "\ud55c")]


@pytest.mark.parametrize("one, other", ALIKE)
def test_two_spellings_of_one_name(one, other):
    assert clean_name(one, "the label") == clean_name(other, "the label")
