"""Sentences made of errors, without a command; `tests/user_errors` has those of commands."""

import traceback

import pytest
import torch
from allennlp.common.checks import ConfigurationError, check_for_gpu
from torch.multiprocessing import ProcessRaisedException

from seal.allennlp.error_sentences import BEGUN, describe


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ConfigurationError) as error:
        check_for_gpu(0)
    told = "there is no GPU here; for the CPU leave --cuda-device out, or set trainer.cuda_device to -1"
    assert describe(error.value) == told


def test_the_text_of_a_worker_without_its_note():
    error = ConfigurationError("no\nbatch")
    error.add_note(BEGUN)
    text = "".join(traceback.format_exception(error))
    assert describe(ProcessRaisedException(f"\n\n-- Process 0 terminated:\n{text}", 0, 1)) == "no batch"
