import json

import pytest

from seal.tasks.multilabel import MultilabelReader
from seal_inspect.demo_alternatives import ALTERNATIVES
from seal_inspect.demo_answers import answers_of
from tests import multilabel
from tests.seal_inspect.demo_models import archived, blocks_of, fitted_labels


def label_block(net, tmp_path):
    data = multilabel.write_data(tmp_path)
    reader = MultilabelReader(**data["reader"])
    answers = answers_of("fruit", archived(net, reader, "seal_multilabel", data["path"]))
    (block,) = blocks_of(answers, answers.about()["examples"][0])
    json.dumps(block, allow_nan=False)
    return block


def test_features_are_asked_for_by_their_names(tmp_path):
    data = multilabel.write_data(tmp_path)
    reader = MultilabelReader(**data["reader"])
    net = multilabel.model(task_net=multilabel.TASK_NET)
    answers = answers_of("fruit", archived(net, reader, "seal_multilabel", data["path"]))
    examples = answers.about()["examples"]
    assert json.loads(examples[1])["features"] == {"weight": 0.5, "ripe": 3.0, "size": -1.0}
    (block,) = blocks_of(answers, examples[1])
    assert sorted(label["name"] for label in block["labels"]) == sorted(multilabel.LABELS)


@pytest.mark.parametrize("option", ["likeliest", "expected_score", "blend"])
def test_label_sets_that_competed_and_why_one_was_chosen(option, tmp_path):
    rule = {"type": "count", "labels": ["red", "round"], "most": 1, "name": "one"}
    # With the rule, all three labels would not be predicted.
    net = fitted_labels([rule] if option != "blend" else [])
    chosen = {"option": option, "own_threshold": 0.5}
    more = {"likeliest": {"output": 1}, "expected_score": {"output": 2}, "blend": {"blend": 0.5, "threshold": 0.01}}
    net.structure.chosen["f1"] = {**chosen, **more[option]}
    block = label_block(net, tmp_path)
    alternatives = block["alternatives"]
    assert sum(one["chosen"] for one in alternatives) == 1
    joint = [one["numbers"]["probability"] for one in alternatives]
    if option == "blend":
        # All three labels, which no row has: the set does not compete.
        assert alternatives[-1]["text"] == "red, round, sweet" and 0 < joint[-1] <= 1 - sum(joint[:-1])
        assert "at least 0.010: 0.5 times the task-net's own, and 0.5 times" in block["why"]
        joint, alternatives = joint[:-1], alternatives[:-1]
    assert 0 < sum(joint) < 1 and joint == sorted(joint, reverse=True)
    for one in alternatives:
        terms = [one["numbers"][name] for name in ("label scores", "set count", "set size", "label pairs")]
        assert one["numbers"]["energy"] == pytest.approx(sum(terms), abs=1e-4)
        assert one["numbers"].get("breaks one", 0) == (option != "blend" and one["text"] == "red, round")
    column = {"likeliest": "probability", "expected_score": "expected F1"}.get(option)
    if column:
        best = max(alternatives, key=lambda one: one["numbers"][column] or 0)
        assert best["chosen"] and column.removeprefix("joint ") in block["why"]


def test_label_sets_of_a_loss_net(tmp_path):
    net = multilabel.model(**multilabel.seal_parts()).float().eval()
    alternatives = label_block(net, tmp_path)["alternatives"]
    scores = [one["numbers"]["log-probability"] for one in alternatives]
    assert len(alternatives) == ALTERNATIVES and scores == sorted(scores, reverse=True)
    assert len({one["numbers"]["energy of the loss-net"] for one in alternatives}) > 1
    assert [one["chosen"] for one in alternatives] == [True] + [False] * (ALTERNATIVES - 1)
