from seal.common.labels import labels_of
from tests.spine import vocabulary


def test_a_list_is_the_labels_and_a_vocabulary_has_them_in_a_namespace():
    names = ["b", "a", "c"]
    assert labels_of(names, "tags") == labels_of(tuple(names), "any") == names
    assert labels_of(vocabulary(names, "tags"), "tags") == names
    assert labels_of(vocabulary(names, "tags"), "others_labels") == []
