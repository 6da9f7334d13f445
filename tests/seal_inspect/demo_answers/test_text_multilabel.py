from tests.seal_inspect.demo_models import blocks_of, texts


def test_labels_with_their_thresholds():
    answers = texts(thresholds=[0.0, 1.0])
    (block,) = blocks_of(answers, "a red kite")
    assert [label["predicted"] for label in block["labels"]] == [True, False]
    assert [label["threshold"] for label in block["labels"]] == [0.0, 1.0]
    assert "energy" in block["numbers"]
    assert answers.about()["examples"] == list(answers.samples)
