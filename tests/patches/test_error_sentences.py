"""Sentences made of errors, without a command; `tests/user_errors` has those of commands."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError, check_for_gpu

from seal.patches.error_sentences import describe


def test_weights_that_do_not_fit_on_the_disk():
    with pytest.raises(RuntimeError) as error:
        torch.save({"weight": torch.zeros(100000)}, "/dev/full")
    told = "/dev/full: the file cannot be written (the disk may be full); --recover continues the run"
    assert describe(error.value) == told


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ConfigurationError) as error:
        check_for_gpu(0)
    assert describe(error.value) == "there is no GPU here; for the CPU leave --cuda-device out"
