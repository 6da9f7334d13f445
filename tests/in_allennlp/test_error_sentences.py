"""Sentences made of errors, without a command; `tests/user_errors` has those of commands."""

import socket
import traceback

from allennlp.common.checks import ConfigurationError
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from seal.allennlp.error_sentences import BEGUN, describe


def test_the_text_of_a_worker_without_its_note():
    error = ConfigurationError("no\nbatch")
    error.add_note(BEGUN)
    text = "".join(traceback.format_exception(error))
    assert describe(ProcessRaisedException(f"\n\n-- Process 0 terminated:\n{text}", 0, 1)) == "no batch"


def test_a_worker_that_was_killed():
    error = ProcessExitedException("killed", error_index=1, error_pid=7, exit_code=-9, signal_name="SIGKILL")
    assert describe(error) == f"worker 1 on {socket.gethostname()} was killed by SIGKILL; --recover continues the run"


def test_the_causes_of_a_failed_union_are_told():
    error = ConfigurationError("Failed to construct argument x with type int or bool.")
    error.__cause__ = ConfigurationError('config key "x" must be\n a number')
    told = describe(error)
    assert told == 'Failed to construct argument x with type int or bool: config key "x" must be a number'
