"""Mixed precision on the processor that runs the tests."""

import pytest

from seal.training.mixed_precision import has_bfloat16_lstms

needs_bfloat16_lstms = pytest.mark.skipif(
    not has_bfloat16_lstms(), reason="PyTorch has no LSTM in bfloat16 on this processor (no avx512)"
)
