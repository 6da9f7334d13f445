"""What models teach: draws of their distribution over whole outputs, and instances that these become."""

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch
from allennlp.models import Model

from seal.tasks.srl.reader import SrlReader
from tests.multilabel import DESCENT, seal_parts
from tests.multilabel import model as feature_model
from tests.multilabel import vocabulary as feature_vocabulary
from tests.spine import VOCAB, encoder_params, srl_batch, srl_instances
from tests.tasks.text import test_model as texts

DRAWS = 4000


def frequencies(drawn):
    """Of each row the share of its draws that each output has."""
    return [
        {tuple(output.tolist()): int(count) / len(row) for output, count in zip(*row.unique(dim=0, return_counts=True))}
        for row in drawn
    ]


def close(found, expected):
    """All shares within five deviations."""
    keys = found.keys() | {key for key, p in expected.items() if p > 1e-3}
    for key in keys:
        p = expected.get(key, 0.0)
        assert abs(found.get(key, 0.0) - p) < 5 * (max(p, 1e-3) / DRAWS) ** 0.5, (key, p)


def srl(**parts):
    torch.manual_seed(0)
    space = {"type": "crf_tag_sequence", "namespace": "srl_tags"}
    settings = {"type": "seal_srl", "output_space": space, "task_net": {"encoder": encoder_params()}, **parts}
    return Model.from_params(Params(settings), vocab=VOCAB).eval()


def test_a_task_net_teaches_its_own_distribution():
    model, batch = srl(), srl_batch([1])
    with torch.no_grad():
        torch.nn.init.normal_(model.task_net._head.weight, std=3.0)
        state = model.task_state(**batch)
        drawn = model.pseudo_labels(batch, DRAWS)
        outputs = torch.cartesian_prod(*[torch.arange(len(model.output_space.labels))] * drawn.shape[2]).unsqueeze(0)
        exact = model.output_space.log_prob(state.logits, outputs, state.mask)[0].exp()
    assert drawn.shape == (1, DRAWS, 2)
    close(frequencies(drawn)[0], {tuple(o.tolist()): float(p) for o, p in zip(outputs[0], exact)})
    assert torch.equal(model.pseudo_labels(batch, None)[:, 0], model(**batch)["tags"])


@pytest.mark.parametrize("gate", ["closed", "open"])
def test_a_structure_teaches_where_it_is_followed(gate):
    model, batch = srl(structure={"type": "tags", "energies": ["role_counts"], "num_candidates": 6}), srl_batch([0, 1])
    with torch.no_grad():
        for parameter in model.structure.parameters():
            parameter.normal_()
        # The other score's gate is another thing.
        model.structure.chosen = {"f1": "own", "exact_match": "likeliest"}
        if gate == "open":
            model.structure.chosen = {"f1": "likeliest", "exact_match": "own"}
        state = model.task_state(**batch)
        drawn = model.pseudo_labels(batch, DRAWS)
        paths = model.paths(state, batch["metadata"])
        q = model.structure.probabilities(paths.candidates(model.structure.scheme))
    for row in range(2):
        expected = {tuple(o.tolist()): float(p) for o, p in zip(paths.tags[row], q[row])}
        found = frequencies(drawn)[row]
        if gate == "open":
            close(found, expected)
        else:
            assert found.keys() - expected.keys()
    assert torch.equal(model.pseudo_labels(batch, None)[:, 0], model(**batch)["tags"])


def test_outputs_are_those_of_the_score_that_is_asked_for():
    structure, batch = {"type": "tags", "energies": ["role_counts"], "num_candidates": 6}, srl_batch([0, 1])
    models = [srl(structure=dict(structure), score=score) for score in (None, "f1", "exact_match")]
    for model in models:
        model.structure.chosen = {"f1": "own", "exact_match": "likeliest"}
        with torch.no_grad():
            for parameter in model.structure.parameters():
                parameter.fill_(-3.0)
    assert [model.chooses for model in models] == [False, False, True]
    first, second, third = (model(**batch)["tags"] for model in models)
    assert torch.equal(first, second) and not torch.equal(first, third)
    with pytest.raises(ConfigurationError, match="model.score.*'accuracy'"):
        srl(structure=dict(structure), score="accuracy")
    with pytest.raises(ConfigurationError, match="model.score"):
        srl(score="f1")


def test_a_decision_that_is_named_is_followed_in_the_place_of_a_structure():
    parts = seal_parts()
    model = feature_model(**{**parts, "structure": {"type": "label_sets"}, "decision": "half"}).eval()
    model.structure.chosen = {"f1": {"option": "likeliest", "own_threshold": 0.5, "output": 1}}
    assert model.structure.is_followed("f1")
    features = torch.ones(2, 3, dtype=torch.double)
    torch.manual_seed(0)
    # The structure knows no set, from which it could draw.
    drawn = model.pseudo_labels({"features": features}, 3)
    torch.manual_seed(0)
    assert torch.equal(drawn, model.output_space.sample(model.task_state(features).logits, 3))


def test_gold_is_not_read():
    model, batch = srl(), srl_batch([0, 1])
    torch.manual_seed(0)
    first = model.pseudo_labels(batch, 3)
    batch["tags"] = torch.ones_like(batch["tags"])
    torch.manual_seed(0)
    assert torch.equal(model.pseudo_labels(batch, 3), first)
    del batch["tags"], batch["is_predicate"]
    torch.manual_seed(0)
    assert torch.equal(model.pseudo_labels(batch, 3), first)


def test_instances_of_frames_with_other_tags():
    model = srl()
    frame, question = srl_instances([1, 4])
    assert model.takes_pseudo_labels(frame) and not model.takes_pseudo_labels(question)
    for instance in (frame, question):
        instance.index_fields(VOCAB)
    made = model.pseudo_labelled(frame, torch.tensor([2, 0, 0]))
    both = Batch([made, question]).as_tensor_dict()
    assert both["tags"][0].tolist() == [2, 0, 0] and both["is_predicate"][0].tolist() == [0, 1, 0]
    assert made["metadata"]["tags"] is None and made["tokens"] is frame["tokens"]
    assert frame["metadata"]["tags"] == ["B-ARG0", "B-V"]
    loss = model.train()(**both)["loss"]
    assert torch.isfinite(loss)


def test_a_sentence_without_predicates_asks_for_them():
    model, reader = srl(), SrlReader()
    texts = ["the cook left it", "she boiled the cook"]
    questions = [reader.text_to_instance(text.split()) for text in texts]
    for question in questions:
        reader.apply_token_indexers(question)
        question.index_fields(VOCAB)
        assert model.needs_expansion(question) and model.takes_pseudo_labels(question)
    assert not any(model.needs_expansion(instance) for instance in srl_instances())
    batch = Batch(questions).as_tensor_dict()
    probabilities = model(**batch)["predicate_prob"]
    with torch.no_grad():
        model._predicate_head.bias -= torch.logit(probabilities.median())
    found = model.expansions(batch)
    assert found == [(row >= 0.5).nonzero().squeeze(1).tolist() for row in model(**batch)["predicate_prob"]]
    # The lower of the two in the middle, and what is above it.
    assert sum(map(len, found)) == 5
    frame = model.expanded(questions[0], 2)
    assert frame["predicate"].labels == [0, 0, 1, 0] and frame["metadata"]["predicate"] == 2
    assert model.takes_pseudo_labels(frame) and not model.needs_expansion(frame)
    made = model.pseudo_labelled(frame, model.pseudo_labels(Batch([frame]).as_tensor_dict(), None)[0, 0])
    assert torch.isfinite(model.train()(**Batch([made]).as_tensor_dict())["loss"])


def test_label_sets():
    vocab, batch = texts.batch()
    structure = {"type": "label_sets"}
    model = texts.model(vocab, task_net={"encoder": texts.ENCODER}, structure=structure).eval()
    logits = model.task_state(**batch).logits.detach()
    own = frequencies(model.pseudo_labels(batch, DRAWS))
    every = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 2)
    for row in range(len(logits)):
        exact = (every * logits[row].sigmoid() + (1 - every) * (-logits[row]).sigmoid()).prod(dim=1)
        close(own[row], {tuple(labels.tolist()): float(p) for labels, p in zip(every, exact)})
    assert torch.equal(model.pseudo_labels(batch, None)[:, 0], model(**batch)["predicted"])

    model.structure.fit(logits.repeat(20, 1), batch["labels"].repeat(20, 1))
    model.structure.chosen["f1"] = {"option": "likeliest", "output": 1, "own_threshold": 0.5}
    q = model.structure.probabilities(model.structure.candidates(logits))
    drawn = model.pseudo_labels(batch, DRAWS)
    for row in range(len(logits)):
        close(
            frequencies(drawn)[row],
            {tuple(labels.tolist()): float(p) for labels, p in zip(model.structure.sets, q[row])},
        )
    assert torch.equal(model.pseudo_labels(batch, None)[:, 0], model(**batch)["predicted"])


@pytest.mark.parametrize("scored", ["f1", "micro_f1"])
def test_where_the_gate_is_closed_the_labels_are_those_above_the_teachers_own_threshold(scored):
    """Not above 0.5: a teacher with low probabilities would teach hardly any label."""
    vocab, batch = texts.batch()
    model = texts.model(vocab, task_net={"encoder": texts.ENCODER}, structure={"type": "label_sets"}, score=scored)
    model.eval()
    with torch.no_grad():
        model.task_net._head.bias.fill_(-2.0)
        state = model.task_state(**batch)
    model.structure.fit(state.logits.repeat(20, 1), batch["labels"].repeat(20, 1))
    own = state.logits.sigmoid().median().item()
    closed = {"option": "own", "blend": 0.0, "threshold": own, "own_threshold": own}
    model.structure.chosen = dict.fromkeys(model.structure.chosen, closed)
    labelled_ones = model.pseudo_labels(batch, None)[:, 0]
    assert torch.equal(labelled_ones, model(**batch)["predicted"]) and own < 0.5
    assert torch.equal(labelled_ones, state.logits.sigmoid() >= own) and labelled_ones.any()


def test_a_teacher_that_predicts_by_energy_teaches_what_it_predicts():
    vocab, batch = feature_vocabulary(), {"features": torch.randn(4, 3, dtype=torch.double)}
    model = feature_model(vocab=vocab, **seal_parts(inference=DESCENT)).eval()
    with torch.no_grad():
        for parameter in model.loss_net.parameters():
            parameter.normal_()
        labelled_ones = model.pseudo_labels(batch, None)[:, 0]
        assert torch.equal(labelled_ones, model(**batch)["predicted"])
        assert not torch.equal(labelled_ones, model.task_state(**batch).logits >= 0)


def test_instances_of_texts_with_other_labels():
    vocab, batch = texts.batch()
    model = texts.model(vocab, task_net={"encoder": texts.ENCODER})
    reader = texts.TextMultilabelReader()
    text = reader.text_to_instance("red kite")
    reader.apply_token_indexers(text)
    text.index_fields(vocab)
    for labels in ([0, 1], [1, 1], [0, 0]):
        made = model.pseudo_labelled(text, torch.tensor(labels))
        assert Batch([made]).as_tensor_dict()["labels"].tolist() == [labels]


def test_frames_alone_are_predicted_as_beside_sentences():
    model = srl(structure={"type": "tags", "energies": ["role_counts"], "num_candidates": 6})
    with torch.no_grad():
        for parameter in model.structure.parameters():
            parameter.normal_()
    model.structure.chosen = {"f1": "likeliest", "exact_match": "likeliest"}
    batch = srl_batch()
    frames = batch["predicate"].any(dim=1)
    assert 0 < int(frames.sum()) < len(frames)
    rows = frames.nonzero().squeeze(1).tolist()
    beside, alone = model(**batch), model(**srl_batch(rows))
    length = alone["tags"].shape[1]
    assert torch.equal(beside["tags"][rows][:, :length], alone["tags"])
    torch.testing.assert_close(beside["log_prob"][rows], alone["log_prob"])
