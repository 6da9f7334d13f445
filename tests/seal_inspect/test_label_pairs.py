import numpy
import pytest

from seal.files.taxonomy import Taxonomy
from seal_inspect.label_pairs import LabelPairs
from seal_inspect.label_statistics import most_associated

NAMES = ["pet", "cat", "kitten", "dog", "rain"]
EDGES = [("being", "pet"), ("pet", "cat"), ("cat", "kitten"), ("pet", "dog")]
# In an order of its own, with a label that the model does not have.
TAXONOMY = Taxonomy(["being", "kitten", "dog", "cat", "pet"], EDGES)
PET, CAT, KITTEN, DOG, RAIN = range(5)


def table(*rows):
    """Boolean, from rows of the names of labels, each with how often it comes."""
    return numpy.array([[name in row.split() for name in NAMES] for number, row in rows for _ in range(number)])


# Of all pairs, dog and rain go together most; of a child and its parent, cat and pet.
GOLD = table((5, "pet cat"), (2, "pet cat kitten"), (1, "pet cat rain"), (12, "dog rain"), (5, "pet dog"), (20, ""))


def test_without_a_taxonomy_the_data_decide():
    assert most_associated(GOLD) == [RAIN, DOG]
    pairs = LabelPairs(NAMES, None, GOLD)
    assert pairs.related() == [RAIN, DOG]
    first, second = pairs.unrelated([RAIN, DOG])
    assert second == DOG and first in (PET, CAT)


def test_a_child_and_its_parent_come_before_other_pairs():
    assert LabelPairs(NAMES, TAXONOMY, GOLD).related() == [CAT, PET]


def test_of_a_label_and_its_ancestor_the_label_comes_first():
    # The parent is rarer, where labels are not completed with their ancestors.
    gold = table((3, "pet cat"), (5, "cat"), (10, ""))
    assert most_associated(gold) == [PET, CAT]
    assert LabelPairs(NAMES, TAXONOMY, gold).related() == [CAT, PET]
    # Without a child beside its parent, an ancestor further up.
    gold = table((3, "pet kitten"), (5, "kitten"), (10, ""))
    assert most_associated(gold) == [PET, KITTEN]
    assert LabelPairs(NAMES, TAXONOMY, gold).related() == [KITTEN, PET]


def test_no_pair_where_no_labels_go_together():
    assert LabelPairs(NAMES, TAXONOMY, table((5, "pet"), (5, "cat"))).related() is None


@pytest.mark.parametrize("related, kin", [([KITTEN, CAT], {PET}), ([DOG, PET], {CAT, KITTEN})])
def test_an_unrelated_label_is_no_kin(related, kin):
    first, second = LabelPairs(NAMES, TAXONOMY, GOLD).unrelated(related)
    assert second == related[1] and first not in kin | set(related)
    # Without what is left, there is none.
    left = GOLD.copy()
    left[:, [label for label in range(5) if label not in kin | set(related)]] = False
    assert LabelPairs(NAMES, TAXONOMY, left).unrelated(related) is None
    assert LabelPairs(NAMES, None, left).unrelated(related)[0] in kin


def test_a_taxonomy_of_other_labels_changes_nothing():
    other = Taxonomy(["a", "b"], [("a", "b")])
    found, plain = LabelPairs(NAMES, other, GOLD), LabelPairs(NAMES, None, GOLD)
    assert found.related() == plain.related() and found.unrelated([RAIN, DOG]) == plain.unrelated([RAIN, DOG])
