import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.tasks.base import SealModel
from seal.tasks.base.scored_rows import NonFiniteOutput, check_scored
from seal.two_player import Objectives, TaskState


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_the_first_row_that_cannot_be_scored_is_named(value):
    scored = torch.zeros(3, 2)
    check_scored(scored, None)
    scored[1:, 1] = value
    with pytest.raises(NonFiniteOutput, match="b:2") as error:
        check_scored(scored, [{"source": "a:1"}, {"source": "b:2"}, {"source": "c:3"}])
    assert error.value.source == "b:2"
    for metadata in (None, [{}, {}, {}]):
        with pytest.raises(NonFiniteOutput, match="finite") as error:
            check_scored(scored, metadata)
        assert error.value.source is None


@pytest.mark.parametrize("kind, told", [(SealModel, "train_data_path"), (Objectives, "gold")])
def test_a_batch_without_gold(kind, told):
    """A loop of one's own has no files."""
    nets, logits = kind.__new__(kind), torch.zeros(1, 2)
    assert nets.gold(TaskState({}, logits, None, gold=logits)) is logits
    with pytest.raises(ConfigurationError, match=told):
        nets.gold(TaskState({}, logits, None))
