import math

from seal_inspect.label_colours import MOST, _oklab, colours_of, contrast_with_black

ROLES = [*(f"ARG{number}" for number in range(6)), *(f"ARGM-{kind}" for kind in "MOD DIR ADV LOC TMP NEG MNR".split())]


def rgb(colour):
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def test_labels_have_colours_that_can_be_told_apart_and_read_on():
    colours = colours_of([*ROLES, "SEL", "LOC", "V"])
    places = [_oklab(rgb(colour)) for label, colour in colours.items() if label != "C-V"]
    assert min(math.dist(one, other) for place, one in enumerate(places) for other in places[:place]) > 0.05
    assert all(contrast_with_black(rgb(colour)) >= 7 for colour in colours.values())
    assert colours["V"] == colours["C-V"] == "#dddddd"
    assert contrast_with_black((255, 255, 255)) == 21


def test_a_label_keeps_its_colour_and_many_labels_have_one_each():
    assert colours_of(ROLES)["ARG1"] == colours_of(ROLES[:2])["ARG1"]
    many = colours_of(map(str, range(MOST + 1)))
    assert many["64"] == many["0"] and len(set(many.values())) == MOST + 1
