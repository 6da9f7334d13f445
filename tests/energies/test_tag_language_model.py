import copy
import math

import pytest
import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Embedding
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder

from seal.energies import Energy, LinearChainEnergy
from seal.energies.tag_language_model import TagLanguageModelEnergy
from tests.energies.test_tag_lstm import slow_log_likelihood
from tests.spine import (
    FRAMES,
    loss_net_params,
    mask_of,
    one_hot,
    srl_batch,
    srl_model,
    tag_sequence,
    vocabulary,
)

SETTINGS = {
    "a": {},
    "b": {"backward": True},
    "c": {"backward": True, "gamma": 0.7},
    "no symbols": {"backward": True, "gamma": 0.5, "with_start": False, "with_end": False},
    "mapped words": {"backward": True, "gamma": 0.7, "word_dim": 1},
    "weighted": {"gamma": 2.0, "weight": 0.25, "with_end": False},
}
INPUT_DIM = 2


def energy_of(num_tags=3, seed=0, **settings):
    torch.manual_seed(seed)
    settings = {"embedding_dim": 4, "hidden_dim": 5, **settings}
    energy = TagLanguageModelEnergy(INPUT_DIM, tag_sequence(num_tags), **settings).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.mul_(3)
    return energy


def slow_energy(energy, output, words):
    """Eq. 9 of one relaxed sequence `(tokens, tags)` without padding."""
    total = 0
    for models, factor in ((energy.tag_models, 1), (energy.word_models or {}, energy.gamma)):
        for name, model in models.items():
            y, x = (output, words) if name == "forward_model" else (output.flip(0), words.flip(0))
            total = total + factor * slow_log_likelihood(model, y, x if models is energy.word_models else None)
    return -energy.weight * total


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_loop_over_time_and_candidates(setting):
    energy, lengths = energy_of(**SETTINGS[setting]), [4, 1, 3]
    mask, hidden = mask_of(lengths), torch.randn(3, 4, INPUT_DIM, dtype=torch.double)
    # Padding is full of noise.
    discrete = torch.randint(3, (3, 5, 4))
    relaxed = torch.randn(3, 5, 4, 3, dtype=torch.double).softmax(-1)
    condition = energy.condition(hidden, mask)
    words = hidden if energy.word_map is None else hidden @ energy.word_map.weight.t()
    for outputs, dense in ((relaxed, relaxed), (discrete, one_hot(discrete, 3))):
        found = energy(condition, outputs, mask)
        slow = torch.stack(
            [
                torch.stack([slow_energy(energy, dense[b, k, :n], words[b, :n]) for k in range(5)])
                for b, n in enumerate(lengths)
            ]
        )
        # One tag without symbols has nothing to predict.
        assert found.shape == (3, 5) and found[0].std() > 0.05
        assert torch.allclose(found, slow, atol=1e-11)


@pytest.mark.parametrize("setting", SETTINGS)
def test_discrete_equals_one_hot_with_gradients(setting):
    energy, mask = energy_of(**SETTINGS[setting]), mask_of([4, 2])
    hidden = torch.randn(2, 4, INPUT_DIM, dtype=torch.double)
    outputs, weights = torch.randint(3, (2, 6, 4)), torch.randn(2, 6, dtype=torch.double)
    results = []
    for form in (outputs, one_hot(outputs, 3)):
        values = energy(energy.condition(hidden, mask), form, mask)
        results.append((values, *torch.autograd.grad((values * weights).sum(), list(energy.parameters()))))
    for one, other in zip(*results):
        assert other.abs().max() > 0 and torch.allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("setting", SETTINGS)
def test_padding_changes_nothing(setting, relaxed):
    energy, lengths = energy_of(**SETTINGS[setting]), [5, 1, 3]
    hidden = torch.randn(3, 5, INPUT_DIM, dtype=torch.double)
    outputs = torch.randint(3, (3, 4, 5))
    if relaxed:
        outputs = torch.randn(3, 4, 5, 3, dtype=torch.double).softmax(-1)
    together = energy(energy.condition(hidden), outputs, mask_of(lengths))
    zeroed = outputs * mask_of(lengths).view(3, 1, 5, *[1] * relaxed)
    assert torch.allclose(energy(energy.condition(hidden), zeroed, mask_of(lengths)), together)
    for b, n in enumerate(lengths):
        alone = energy(energy.condition(hidden[b, None, :n]), outputs[b, None, :, :n])
        assert torch.allclose(together[b], alone[0], atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
def test_gradient_with_respect_to_relaxed_outputs(setting):
    energy, mask = energy_of(**SETTINGS[setting]), mask_of([3, 2])
    condition = energy.condition(torch.randn(2, 3, INPUT_DIM, dtype=torch.double))
    outputs = (torch.rand(2, 2, 3, 3, dtype=torch.double) + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: energy(condition, y, mask), outputs)
    (gradient,) = torch.autograd.grad(energy(condition, outputs, mask).sum(), outputs)
    assert gradient[1, :, 2].abs().max() == 0 < gradient[1, :, 1].abs().max()


def test_second_derivatives():
    # What the implicit method asks of an energy.
    energy, mask = energy_of(num_tags=2, **SETTINGS["b"]), mask_of([3, 2])
    outputs = (torch.rand(2, 1, 3, 2, dtype=torch.double) + 0.1).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda y: energy(None, y, mask), outputs)


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_the_uniform_oracle(gamma):
    energy = energy_of(num_tags=2, backward=True, gamma=gamma)
    with torch.no_grad():
        for name, parameter in energy.named_parameters():
            if ".output." in name:
                parameter.zero_()
    outputs = torch.randn(1, 4, 3, 2, dtype=torch.double).softmax(-1)
    condition = energy.condition(torch.randn(1, 3, INPUT_DIM, dtype=torch.double))
    assert energy(condition, outputs).tolist()[0] == pytest.approx([4.394449 * (2 + 2 * gamma)] * 4)
    forward = energy_of(num_tags=2)
    torch.nn.init.zeros_(forward.tag_models["forward_model"].output.weight)
    torch.nn.init.zeros_(forward.tag_models["forward_model"].output.bias)
    assert forward(None, outputs).tolist()[0] == pytest.approx([4 * math.log(3)] * 4)


def test_which_models_a_setting_has():
    assert {name.split(".")[0] for name in energy_of().state_dict()} == {"tag_models"}
    assert [len(energy_of(**SETTINGS[key]).tag_models) for key in "abc"] == [1, 2, 2]
    assert energy_of(**SETTINGS["b"]).word_models is None
    assert set(energy_of(**SETTINGS["c"]).word_models) == {"forward_model", "backward_model"}
    assert energy_of(**SETTINGS["b"]).condition(torch.randn(1, 3, INPUT_DIM)) is None


def test_order_matters_both_ways():
    energy = energy_of(backward=True)
    values = energy(None, torch.tensor([[[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 2]]]))[0].tolist()
    assert min(abs(a - b) for i, a in enumerate(values) for b in values[:i]) > 1e-3


def test_words_count_before_forward_and_after_backward():
    energy = energy_of(gamma=1.0, backward=True, with_end=False)
    hidden = torch.randn(1, 3, INPUT_DIM, dtype=torch.double, requires_grad=True)
    outputs = torch.randint(3, (1, 1, 3))
    lengths = torch.tensor([3])
    forward = energy.word_models["forward_model"](outputs[0], lengths, hidden)
    (gradient,) = torch.autograd.grad(forward.sum(), hidden)
    assert (gradient[0].abs().amax(dim=1) > 0).tolist() == [True, True, False]
    energy.word_models.pop("forward_model"), energy.tag_models.pop("forward_model")
    (gradient,) = torch.autograd.grad(energy(energy.condition(hidden), outputs).sum(), hidden)
    assert (gradient[0].abs().amax(dim=1) > 0).tolist() == [False, True, True]


def test_words_of_its_own():
    embedder = BasicTextFieldEmbedder({"tokens": Embedding(embedding_dim=6, num_embeddings=9)})
    energy = energy_of(gamma=1.0, word_embedder=embedder)
    inputs = {"tokens": {"tokens": {"tokens": torch.tensor([[3, 4, 5]])}}}
    condition = energy.condition(torch.randn(1, 3, INPUT_DIM), None, inputs)
    assert torch.equal(condition, embedder(inputs["tokens"]))
    assert energy(condition, torch.randint(3, (1, 2, 3))).shape == (1, 2)
    with pytest.raises(ConfigurationError, match="'tokens'"):
        energy.condition(torch.randn(1, 3, INPUT_DIM))


def test_float32_agrees_with_float64():
    energy, outputs = energy_of(**SETTINGS["c"]), torch.randint(3, (2, 3, 5))
    hidden = torch.randn(2, 5, INPUT_DIM)
    exact = energy(energy.condition(hidden.double()), outputs, mask_of([5, 3]))
    rounded = energy.float()(energy.condition(hidden), outputs, mask_of([5, 3]))
    assert rounded.dtype == torch.float and torch.allclose(rounded.double(), exact, rtol=1e-4)


def test_evaluation_mode_changes_nothing():
    energy, outputs = energy_of(backward=True), torch.randn(1, 2, 4, 3, dtype=torch.double).softmax(-1)
    assert torch.equal(energy.eval()(None, outputs), energy.train()(None, outputs))


# Loaded and frozen.


def trained_run(folder, energies, labels=("t0", "t1", "t2")):
    """A run's folder with a loss-net of these terms."""
    folder.mkdir()
    vocabulary(labels).save_to_files(str(folder / "vocabulary"))
    torch.save(
        {
            f"loss_net.energies.{i}.{name}": value
            for i, energy in enumerate(energies)
            for name, value in energy.float().state_dict().items()
        },
        folder / "best.th",
    )
    return str(folder)


def test_a_frozen_model_is_the_trained_one(tmp_path):
    trained = energy_of(seed=5, backward=True)
    path = trained_run(tmp_path / "run", [LinearChainEnergy(2, tag_sequence(3)), trained, energy_of(hidden_dim=7)])
    params = {"type": "tag_language_model", "embedding_dim": 4, "hidden_dim": 5, "backward": True}
    params.update(pretrained_file=path, frozen=True)
    frozen = Lazy(Energy, Params(params)).construct(input_dim=INPUT_DIM, output_space=tag_sequence(3))
    outputs = torch.randint(3, (2, 3, 4))
    assert torch.allclose(frozen(None, outputs), trained(None, outputs))
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    relaxed = torch.rand(1, 1, 3, 3, requires_grad=True)
    frozen(None, relaxed).sum().backward()
    assert relaxed.grad.abs().max() > 0
    start = energy_of(backward=True, pretrained_file=path)
    assert all(parameter.requires_grad for parameter in start.parameters())

    # An archive's config has no pretrained_file: the weights come from the archive.
    again = energy_of(backward=True, frozen=True).float()
    with pytest.raises(ConfigurationError, match="frozen"):
        again(None, outputs)
    torch.nn.Sequential(again).load_state_dict(torch.nn.Sequential(copy.deepcopy(frozen)).state_dict())
    assert torch.equal(again(None, outputs), frozen(None, outputs))


class DroppingEmbedding(Embedding):
    def forward(self, tokens):
        return torch.nn.functional.dropout(super().forward(tokens), training=self.training)


def test_frozen_models_have_no_dropout():
    def of_words(frozen):
        embedding = DroppingEmbedding(num_embeddings=7, embedding_dim=3)
        return energy_of(gamma=1.0, word_embedder=BasicTextFieldEmbedder({"tokens": embedding}), frozen=frozen)

    energies = [of_words(frozen) for frozen in (True, False)]
    inputs = {"tokens": {"tokens": {"tokens": torch.arange(6).view(1, 6)}}}
    for energy in energies:
        torch.nn.Sequential(energy).train()
        assert energy.tag_models["forward_model"].lstm.training
    frozen, free = ([energy.condition(None, inputs=inputs) for _ in range(2)] for energy in energies)
    assert torch.equal(*frozen) and not torch.equal(*free)


@pytest.mark.parametrize(
    "terms, labels, message",
    [
        ([], "t0 t1 t2", "terms"),
        ([{"hidden_dim": 6}], "t0 t1 t2", "terms"),
        ([{}, {"seed": 1}], "t0 t1 t2", "terms"),
        ([{}], "t0 t2 t1", "order"),
        ([{}], "t0 t1 t3", "labels"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, terms, labels, message):
    path = trained_run(tmp_path / "run", [energy_of(**term) for term in terms], labels.split())
    with pytest.raises(ConfigurationError, match=message):
        energy_of(pretrained_file=path)


def test_words_of_another_order_are_told(tmp_path):
    """The embedder's rows are words by their numbers; a model that reads none has nothing to compare."""
    reader = {"embedding_dim": 4, "hidden_dim": 5, "gamma": 1.0}
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 6}}}

    def build(words, **more):
        vocab = vocabulary(["t0", "t1", "t2"])
        for word in words:
            vocab.add_token_to_namespace(word, "tokens")
        params = Params({"type": "tag_language_model", **copy.deepcopy(reader), **copy.deepcopy(more)})
        lazy = Lazy(Energy, params, constructor_extras={"vocab": vocab})
        return vocab, lazy.construct(input_dim=INPUT_DIM, output_space=tag_sequence(3))

    vocab, trained = build(["a", "b"], word_embedder=embedder)
    path = trained_run(tmp_path / "run", [trained])
    vocab.save_to_files(str(tmp_path / "run" / "vocabulary"))
    _, loaded = build(["a", "b"], word_embedder=embedder, pretrained_file=path)
    assert torch.equal(
        *(
            dict(energy.named_parameters())["word_embedder.token_embedder_tokens.weight"].float()
            for energy in (trained, loaded)
        )
    )
    with pytest.raises(ConfigurationError, match="pretrained_file.*'tokens'"):
        build(["b", "a"], word_embedder=embedder, pretrained_file=path)
    path = trained_run(tmp_path / "without", [build([])[1]])
    vocab.save_to_files(str(tmp_path / "without" / "vocabulary"))
    build(["b", "a"], pretrained_file=path)


# In a model.


@pytest.mark.parametrize("setting", ["a", "c", "mapped words"])
def test_each_loss_moves_its_own_player(setting):
    term = {"type": "tag_language_model", "embedding_dim": 4, "hidden_dim": 5, **SETTINGS[setting]}
    loss_net = loss_net_params()
    loss_net["energies"].append(term)
    model = srl_model(loss_net, sampler={"type": "discrete", "num_samples": 6}, energy_loss={"type": "nce_ranking"})
    state = model.task_state(**srl_batch(FRAMES))
    parameters = list(model.loss_net.energies[-1].parameters())
    model.task_net_loss(state, model.frozen_features(state)).backward(retain_graph=True)
    assert all(parameter.grad is None for parameter in parameters)
    model.loss_net_loss(state, model.sample(state)).backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in parameters)


def test_an_embedder_from_a_config():
    loss_net = loss_net_params()
    embedder = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}}
    loss_net["energies"] = [{"type": "tag_language_model", "gamma": 0.5, "word_embedder": embedder}]
    model = srl_model(loss_net, sampler={"type": "discrete", "num_samples": 6}, energy_loss={"type": "nce_ranking"})
    (term,) = model.loss_net.energies
    batch = srl_batch(FRAMES)
    assert term.condition(None, None, {"tokens": batch["tokens"]}).shape == (*batch["tags"].shape, 3)
