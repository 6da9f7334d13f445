import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal_inspect.demo_answers import answers_of
from tests.seal_inspect.demo_models import archived


def test_a_tagger_of_predicates_is_for_models_of_roles_alone():
    with pytest.raises(ConfigurationError, match="--predicates-from"):
        answers_of("fruit", archived(torch.nn.Linear(1, 1), None, "linear"), predicates_from="tagger.tar.gz")


def test_a_model_of_others_is_refused():
    with pytest.raises(ConfigurationError, match="not Linear"):
        answers_of("other", archived(torch.nn.Linear(1, 1), None, "linear"))
