from seal.common.linear_trees import check_tree, linearised
from seal.tasks.parsing.predictor import ParsingPredictor
from tests.tasks.parsing.test_model import NCE
from tests.trees import READER, TREES, instances_of, model_of


def predictor_of(loss_net=False, **settings):
    return ParsingPredictor(model_of(**(NCE if loss_net else {})), READER, **settings)


def test_a_sentence():
    from nltk import Tree

    record = predictor_of().predict("Rose sells  (old) ginger.")
    assert record["words"] == ["Rose", "sells", "(", "old", ")", "ginger", "."]
    assert record["offsets"][:3] == [[0, 4], [5, 10], [12, 13]]
    tree = Tree.fromstring(record["tree"])
    assert tree.leaves() == ["Rose", "sells", "-LRB-", "old", "-RRB-", "ginger", "."]
    check_tree(linearised(tree), 7)
    whole, *_ = record["constituents"]
    assert whole == {"label": tree.label(), "start": 0, "end": 6, "text": "Rose sells  (old) ginger."}
    assert 0 <= record["probability"] <= 1 and "energy" not in record


def test_instances_of_the_reader():
    instances = instances_of()
    for instance, number in zip(instances, range(1, 4)):
        instance["metadata"].metadata["source"] = f"a.mrg:{number}"
    records = predictor_of().predict_batch_instance(instances)
    assert [record["id"] for record in records] == ["a.mrg:1", "a.mrg:2", "a.mrg:3"]
    assert [len(record["words"]) for record in records] == [7, 2, 2]
    assert len(records) == len(TREES)
