import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.energies import Energy
from tests.label_sets import label_set
from tests.spine import tag_sequence

OUTPUTS = {
    "linear_chain": "tag sequences",
    "self_attention": "tag sequences",
    "tag_language_model": "tag sequences",
    "label_interaction": "label sets",
    "log_partition": "label sets",
    "mask_convolution": "masks",
}
MORE = {"label_interaction": {"hidden_dim": 3}}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_energy_of_other_outputs_is_refused(name):
    spaces = {"tag sequences": tag_sequence(3), "label sets": label_set(3)}
    for kind, space in spaces.items():
        if kind == OUTPUTS[name]:
            continue
        with pytest.raises(ConfigurationError, match=f"'{name}'.*{type(space).__name__}"):
            Energy.from_params(Params({"type": name, **MORE.get(name, {})}), input_dim=4, output_space=space)


@pytest.mark.parametrize("name", ["local", *(name for name in OUTPUTS if OUTPUTS[name] != "masks")])
def test_energies_have_full_precision_in_mixed_precision(name):
    """Candidates differ by less than a bfloat16 of a large energy tells apart."""
    torch.manual_seed(0)
    of_labels = OUTPUTS.get(name) == "label sets"
    space = label_set(5) if of_labels else tag_sequence(5)
    energy = Energy.from_params(Params({"type": name, **MORE.get(name, {})}), input_dim=8, output_space=space)
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.mul_(2)
    hidden = torch.randn(2, 8) if of_labels else torch.randn(2, 20, 8)
    logits = 2 * torch.randn(2, 6, *hidden.shape[1:-1], 5)
    relaxed = logits.sigmoid() if of_labels else logits.softmax(dim=-1)
    mask = None if of_labels else torch.ones(2, 20, dtype=torch.bool)
    for outputs in (relaxed, relaxed.round() if of_labels else relaxed.argmax(dim=-1)):
        exact = energy(energy.condition(hidden, mask), outputs, mask)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = energy(energy.condition(hidden, mask), outputs, mask)
        assert found.dtype == torch.float
        differences = [energies - energies.mean(dim=1, keepdim=True) for energies in (exact, found)]
        assert (differences[1] - differences[0]).abs().max() < 0.03 * differences[0].abs().max()
        if name in ("label_interaction", "linear_chain", "self_attention", "tag_language_model"):
            assert torch.equal(found, exact)
