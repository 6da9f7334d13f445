import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal_inspect.demo_answers import answers_of
from tests.seal_inspect.demo_models import archived


@pytest.mark.parametrize("more, told", [({}, "not Linear"), ({"predicates_from": "a.tar.gz"}, "--predicates-from")])
def test_a_model_of_others_is_refused(more, told):
    with pytest.raises(ConfigurationError, match=told):
        answers_of("other", archived(torch.nn.Linear(1, 1), None, "linear"), **more)
