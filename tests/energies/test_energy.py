import pytest
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
    "mask_convolution": "masks",
}
MORE = {"label_interaction": {"hidden_dim": 3}}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_energy_of_other_outputs_is_refused(name):
    spaces = {"tag sequences": tag_sequence(3), "label sets": label_set(3)}
    for kind, space in spaces.items():
        if kind == OUTPUTS[name]:
            continue
        told = f"'{name}' is an energy of {OUTPUTS[name]}; model.output_space is a {type(space).__name__}"
        with pytest.raises(ConfigurationError, match=told):
            Energy.from_params(Params({"type": name, **MORE.get(name, {})}), input_dim=4, output_space=space)
