import base64
import json

import pytest

from seal_inspect.demo_answers import answers_of
from tests import trees
from tests.seal_inspect.demo_models import archived, blocks_of


def learned_structure():
    """A model whose structure was learned by hand, and follows the energy."""
    model = trees.model_of(beam=3, structure={"type": "trees", "num_candidates": 4}).eval()
    record = model.held_out(trees.batch_of())
    model.fit_structure([record], [record])
    model.structure.chosen = {"f1": "likeliest", "exact_match": "likeliest"}
    return model


def test_trees_of_a_loss_net(widths):
    model = trees.model_of(beam=3, **trees.STACKED).eval()
    answers = answers_of("parser", archived(model, trees.READER, "seal_parsing"))
    (block,) = blocks_of(answers, "Rose sells ginger")
    assert widths == [3]
    energies = [one["numbers"]["energy of the loss-net"] for one in block["alternatives"]]
    assert energies[0] == pytest.approx(block["numbers"]["energy"], abs=1e-6) and len(set(energies)) == 3


@pytest.mark.parametrize("structure", [False, True])
def test_a_tree_and_those_that_competed(structure, widths):
    model = learned_structure() if structure else trees.model_of(beam=3).eval()
    widths.clear()
    answers = answers_of("parser", archived(model, trees.READER, "seal_parsing"))
    (block,) = blocks_of(answers, "Rose sells ginger")
    assert widths == [4 if structure else 3]
    assert block["kind"] == "tree"
    picture = base64.b64decode(block["image"].removeprefix("data:image/svg+xml;base64,")).decode()
    assert picture.startswith("<svg") and "ginger" in picture
    assert sum(one["chosen"] for one in block["alternatives"]) == 1
    assert block["text"] == next(one["text"] for one in block["alternatives"] if one["chosen"])
    names = set(block["alternatives"][0]["numbers"])
    assert names == {"log-probability"} | (
        {"energy", "tree rules", "tree attachments", "probability"} if structure else set()
    )
    scores = [one["numbers"]["log-probability"] for one in block["alternatives"]]
    assert len(scores) == (4 if structure else 3) and scores == sorted(scores, reverse=True)
    json.dumps(block, allow_nan=False)


def test_more_trees_compete_than_those_of_a_prediction_without_the_energy(widths):
    model = learned_structure()
    model.structure.chosen = {"f1": "own", "exact_match": "own"}
    widths.clear()
    (block,) = blocks_of(answers_of("parser", archived(model, trees.READER, "seal_parsing")), "Rose sells ginger")
    # The probability of its own tree is that among those that compete.
    assert widths == [3, 4, 4] and len(block["alternatives"]) == 4
    assert "The task-net predicts alone" in block["why"]
