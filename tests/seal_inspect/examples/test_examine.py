from types import SimpleNamespace

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal_inspect.examples import examine


def test_a_model_of_others_is_refused():
    archive = SimpleNamespace(model=torch.nn.Linear(1, 1), validation_dataset_reader=None)
    with pytest.raises(ConfigurationError, match="not Linear"):
        examine(archive, "data", 1)
