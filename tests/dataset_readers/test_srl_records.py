from seal.dataset_readers.srl_records import SrlFrame, SrlSentence


def test_predicates_are_ascending_and_each_is_there_once():
    frames = [SrlFrame(predicate, ["O"] * 5) for predicate in (3, 1, 3)]
    assert SrlSentence(list("abcde"), frames).predicates == [1, 3]
    assert SrlSentence(list("abcde")).predicates == []


def test_sentences_do_not_share_their_frames():
    first, second = SrlSentence(["a"]), SrlSentence(["b"])
    first.frames.append(SrlFrame(0, ["B-V"]))
    assert second.frames == []
