from seal_inspect.tree_differences import differing_brackets

GOLD = "(S (NP They) (VP broke (NP (NP a vase) (PP with (NP a crack)))) .)"
ON_THE_VERB = "(S (NP They) (VP broke (NP a vase) (PP with (NP a crack))) .)"


def test_only_brackets_that_differ_are_left():
    assert differing_brackets(GOLD, ON_THE_VERB) == [
        "They broke [NP a vase with a crack] .",
        "They broke a vase with a crack .",
    ]
    gold, found = differing_brackets("(S (VP (VP go)) (NP (QP it)))", "(S (VP go) (PP it))")
    assert gold == "[VP go] [NP [QP it]]" and found == "go [PP it]"


def test_gold_shows_what_any_of_the_others_lacks():
    assert differing_brackets(GOLD, GOLD, ON_THE_VERB) == [
        "They broke [NP a vase with a crack] .",
        "They broke a vase with a crack .",
        "They broke a vase with a crack .",
    ]
