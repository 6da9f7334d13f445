import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from transformers import AutoModel

from seal.nets.encoders import Encoder, TransformerWordEncoder
from tests.tiny_bert import save_tiny_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    return str(save_tiny_bert(tmp_path_factory.mktemp("bert"), ["a", "b"]))


def encoder(folder, **settings):
    return Encoder.from_params(Params({"type": "text_transformer", "model_name": folder, **settings}))


def pieces(length=6, rows=3):
    ids = torch.randint(5, 20, (rows, length))
    mask = torch.ones_like(ids).bool()
    mask[0, 3:] = False
    return {"tokens": {"tokens": {"token_ids": ids, "mask": mask, "type_ids": torch.zeros_like(ids)}}}


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_vector_is_that_of_transformers_and_padding_says_nothing(folder, pooling):
    net, inputs = encoder(folder, pooling=pooling).eval(), pieces()
    found = net(inputs)
    assert found.shape == (3, net.get_output_dim()) == (3, 16)
    ids, mask = inputs["tokens"]["tokens"]["token_ids"], inputs["tokens"]["tokens"]["mask"]
    plain = AutoModel.from_pretrained(folder).eval()
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        vectors = plain(ids[row : row + 1, :length]).last_hidden_state[0]
        expected = vectors[0] if pooling == "cls" else vectors.mean(dim=0)
        assert torch.allclose(found[row], expected, atol=1e-6)


def test_what_is_trained(folder):
    inputs = pieces()
    full, frozen = encoder(folder), encoder(folder, train_parameters=False)
    adapted = encoder(folder, adapters={"dim": 4})
    assert all(parameter.requires_grad for parameter in full.parameters())
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    trained = [name for name, parameter in adapted.named_parameters() if parameter.requires_grad]
    assert {name.split(".")[-2] for name in trained} == {"down", "up"}
    # A frozen one has no dropout in training either.
    assert torch.equal(frozen.train()(inputs), full.eval()(inputs))
    assert torch.equal(adapted.eval()(inputs), full(inputs))
    adapted.train()(inputs).sum().backward()


def test_gradient_checkpointing_saves_memory_and_changes_nothing(folder):
    inputs, saved, found = pieces(), {}, {}
    for wanted in (None, True):
        torch.manual_seed(0)
        net = encoder(folder, gradient_checkpointing=wanted, adapters={"dim": 4})
        # In training mode, or nothing is computed again; but without dropout, to compare.
        for module in net.train().modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        size = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: size.append(x.nbytes) or x, lambda x: x):
            value = net(inputs).square().sum()
        saved[wanted] = sum(size)
        one = next(p for name, p in net.named_parameters() if "layer.0" in name and name.endswith("up.bias"))
        (first,) = torch.autograd.grad(value, one, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), one)
        found[wanted] = torch.stack([first.detach(), second])
    assert saved[True] < saved[None] / 3
    assert found[None].abs().min() > 0 and torch.allclose(found[True], found[None], rtol=1e-4, atol=1e-6)


def test_two_encoders_of_a_model_share_no_weights(folder):
    one, other = encoder(folder), encoder(folder)
    assert not {id(p) for p in one.parameters()} & {id(p) for p in other.parameters()}


def test_the_first_layers_alone(folder):
    ids = torch.randint(5, 20, (2, 4))
    inputs = {"tokens": {"tokens": {"token_ids": ids, "mask": torch.ones_like(ids).bool()}}}
    states = AutoModel.from_pretrained(folder).eval()(ids, output_hidden_states=True).hidden_states
    assert len(states) == 3
    for layers, state in ((1, states[1]), (2, states[2]), (None, states[2])):
        assert torch.allclose(encoder(folder, layers=layers).eval()(inputs), state.mean(dim=1), atol=1e-6)
    words = TransformerWordEncoder(folder, layers=1, marks_predicate=False)
    assert len(words._embedder._matched_embedder.transformer_model.encoder.layer) == 1


def without_max_length():
    inputs = pieces()
    inputs["tokens"]["tokens"]["segment_concat_mask"] = None
    return inputs


@pytest.mark.parametrize(
    "settings, inputs, named",
    [
        ({"pooling": "max"}, None, "encoder.pooling.*'max'"),
        ({"train_parameters": False, "adapters": {}}, None, "encoder.train_parameters.*adapters"),
        ({"model_name": "/no/such/folder"}, None, "'/no/such/folder'"),
        ({"layers": 3}, None, "encoder.layers.*3"),
        ({}, pieces(513), "513 .*512"),
        ({}, without_max_length(), "max_length"),
    ],
)
def test_a_wrong_setting_or_input_is_named(folder, settings, inputs, named):
    with pytest.raises(ConfigurationError, match=named):
        encoder(folder, **settings)(inputs)
