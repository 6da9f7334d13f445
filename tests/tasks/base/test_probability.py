"""With a structure `probability` is calibrated, whatever the gate chose; `probability_own` is the task-net's."""

import numpy
import pytest
import torch
from allennlp.data import Batch

from seal.structure import TagStructure
from seal.structure.calibration import Calibration
from seal.tasks.multilabel import MultilabelPredictor
from seal.tasks.multilabel.reader import MultilabelReader
from seal.tasks.parsing.predictor import ParsingPredictor
from tests import trees
from tests.seal_inspect.demo_models import fitted_labels
from tests.spine import FRAMES, srl_batch, srl_model
from tests.tasks.tagging.test_predictor import predictor_of

OPTIONS = ["own", "likeliest"]


def decided(structure, option):
    """As if it had learned, and the gate had chosen this."""
    structure.chosen = dict.fromkeys(structure.scores, option)
    structure.calibration = Calibration(2.0, [1.0, 0.3])


def with_tags(model, keyed):
    """The model with a structure of energies that all are 0."""
    structure = TagStructure(model.output_space.labels, model.output_space.encoding, keyed, ["role_counts"])
    model.structure = structure
    return structure


def batch_of(made, words):
    instance = made._dataset_reader.text_to_instance(words)
    made._dataset_reader.apply_token_indexers(instance)
    batch = Batch([instance])
    batch.index_instances(made._model.vocab)
    return batch.as_tensor_dict()


@pytest.mark.parametrize("option", OPTIONS)
def test_tags(option):
    made = predictor_of()
    own = made.predict("Rose sells ginger!")
    structure = with_tags(made._model, keyed=False)
    decided(structure, option)
    record = made.predict("Rose sells ginger!")
    assert record["probability_own"] == own["probability"] and "probability_own" not in own
    assert record["tags"] == own["tags"]
    # Of energies that are 0 the first path is the best, and its share among all is that at the temperature.
    words = "Rose sells ginger !".split()
    state = made._model.task_state(**batch_of(made, words))
    paths = made._model.paths(state, [{"words": words}])
    expected = float(structure.calibrated(structure.candidates(paths))[0, 0])
    assert record["probability"] == pytest.approx(expected, abs=1e-5)
    assert abs(expected - record["probability_own"]) > 0.01


@pytest.mark.parametrize("option", OPTIONS)
def test_frames(option):
    model, batch = srl_model(seed=1).eval(), srl_batch()
    structure = with_tags(model, keyed=True)
    decided(structure, option)
    assert "probability" not in model(**batch)
    model.with_probability = True
    output = model(**batch)
    state = model.task_state(**batch)
    paths = model.paths(state, [batch["metadata"][row] for row in FRAMES])
    expected = structure.calibrated(structure.candidates(paths))[:, 0]
    assert torch.allclose(output["probability"][FRAMES].float(), expected.float(), atol=1e-5)
    plain = model(**{name: value for name, value in batch.items() if name != "tags"})
    assert torch.equal(plain["tags"], output["tags"])


@pytest.mark.parametrize("option", OPTIONS)
def test_trees(option):
    model = trees.model_of(beam=3, structure={"type": "trees", "num_candidates": 4}).eval()
    made = ParsingPredictor(model, trees.READER)
    own = made.predict("Rose sells ginger")
    decided(model.structure, option)
    record = made.predict("Rose sells ginger")
    assert record["tree"] == own["tree"] and record["probability_own"] == pytest.approx(own["probability"])
    assert record["probability"] > 2 * record["probability_own"]


@pytest.mark.parametrize("score", ["f1", "subset_accuracy"])
def test_label_sets(score):
    net = fitted_labels(score=score)
    made = MultilabelPredictor(net, MultilabelReader(), probabilities=True)
    row = torch.tensor([[0.5, -1.0, 2.0]])
    made.features = lambda prepared: row
    made.prepare = lambda inputs: row
    record = made.predict_json({"features": [0, 0, 0]})
    logits = net.task_state(row).logits
    predicted = net.structure.decide(logits, score)
    assert record["probability"] == pytest.approx(float(net.structure.probability_of(logits, predicted)), abs=1e-6)
    marginals = net.structure.marginals(logits, calibrated=True)[0].tolist()
    assert list(record["probabilities"].values()) == pytest.approx(marginals, abs=1e-6)
    own = torch.where(predicted, logits.detach().sigmoid(), (-logits.detach()).sigmoid()).prod()
    assert record["probability_own"] == pytest.approx(float(own), abs=1e-6)
    net.decision = "half"
    record = made.predict_json({"features": [0, 0, 0]})
    assert "probability_own" not in record
    assert list(record["probabilities"].values()) == pytest.approx(logits.sigmoid()[0].tolist(), abs=1e-6)
    assert record["probability"] == pytest.approx(
        numpy.prod([max(p, 1 - p) for p in record["probabilities"].values()]), abs=1e-6
    )
