import time

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.files.names import check_name, check_text, clean_label, clean_name
from seal.files.records import first_repeated
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


@pytest.mark.parametrize("name", ["a\r", "a\n", "\ta", "\x7f", "a\x85"])
def test_a_control_character_at_an_end(name):
    told = message_of(check_name, name, "f:1: the label")
    assert told.startswith("f:1: the label begins or ends with a control character") and told.isprintable()
    check_text(name, "f:1: the text")


@pytest.mark.parametrize("name", ["@@UNKNOWN@@", "@@PADDING@@"])
def test_a_name_of_the_vocabulary_itself(name):
    with pytest.raises(ConfigurationError, match=f"^f:1: the tag is {name}, which AllenNLP's vocabulary keeps for it"):
        check_name(name, "f:1: the tag")
    check_text(name, "f:1: the word")


@pytest.mark.parametrize("name", [" a", "a ", "", " "])
def test_a_label_is_not_blank_nor_has_white_space_around_it(name):
    with pytest.raises(ConfigurationError, match="^f:1: the label (is blank|begins or ends with white space): "):
        clean_label(name, "f:1: the label")
    clean_label("a b", "f:1: the label")
    with pytest.raises(ConfigurationError, match="begins or ends with a control character"):
        clean_label("a\r", "f:1: the label")


@pytest.mark.parametrize("check", [clean_label, check_name, check_text])
def test_half_a_surrogate_pair(check):
    told = message_of(check, "a\udc80b", "f:1: the word")
    assert told == "f:1: the word holds half a surrogate pair, which is not a character: 'a\\udc80b'."


SEEN = ["a", "a b", "B-ARG0", "-LRB-", "caf\u00e9", "\u0627\u0644\u0639", "\u0645\u06cc\u200c\u062e"]
SEEN += ["\u2764\ufe0f", "\U0001f469\u200d\U0001f52c"]


@pytest.mark.parametrize("name", SEEN)
def test_names_that_are_seen_as_they_are(name):
    assert clean_name(name, "the tag") == name


UNSEEN = ["a\u00a0", "a\u200b", "\ufeffa", "a\u00adb", "a\u2060b", "a\u202f", "a\u3000b", "a\u3164", "a\u200d"]
UNSEEN += ["a\ufe0f", "\u202ea", "a\u2028b", "a\tb", "a\rb", "a\u034f", "\u0645\u200c"]


@pytest.mark.parametrize("name", UNSEEN)
def test_names_with_characters_that_nobody_sees(name):
    told = message_of(clean_name, name, "f:1: the tag")
    assert told.startswith("f:1: the tag has a character that cannot be seen, U") and told.isprintable()


ALIKE = [("cafe\u0301", "caf\u00e9"), ("A\u030a", "\u212b"), ("\u1112\u1161\u11ab", "\ud55c")]


@pytest.mark.parametrize("one, other", ALIKE)
def test_two_spellings_of_one_name(one, other):
    assert clean_name(one, "the label") == clean_name(other, "the label")
    with pytest.raises(ConfigurationError, match="begins or ends with white space"):
        clean_name(f"{one} ", "the label")


def test_a_name_of_ten_megabytes():
    start = time.process_time()
    assert clean_name("a" * 10**7, "the tag") == "a" * 10**7
    assert time.process_time() - start < 2


def test_the_first_that_is_there_again():
    assert first_repeated(["a", "b", "b", "a"]) == "b" and first_repeated([0, 1, 0]) == 0
    assert first_repeated("abc") is None
