"""
PyTorch's `log1p` and `expm1` at their full speed on processors with AVX-512.

Softplus, log-sigmoid, binary cross-entropy and `logaddexp` are computed by `log1p`, ELU by `expm1`. PyTorch takes both
from the SLEEF library. Its AVX-512 code loads the results of special arguments, such as -0 and -1, from memory under a
mask that says which of 16 numbers are special. Where none is, nothing is loaded. But as long as nothing has ever been
loaded from there, that page of memory is not mapped, and the processor takes some 250 ns to suppress the page fault,
for every 16 numbers and for the life of the process. Computing the special values once maps the page.

On an AMD EPYC, softplus of 12,800 numbers takes 237 us without that and 30 us with it; a training step of the nets for
bibtex takes 14% less. To measure it:

    python -m timeit -s "import torch; x = torch.randn(12800)" "torch.nn.functional.softplus(x)"
    python -m timeit -s "import seal, torch; x = torch.randn(12800)" "torch.nn.functional.softplus(x)"
"""

import math

import torch


def load_special_values() -> None:
    """
    Computes the special values. To be called once in a process, before anything else is computed. Results do not
    change, and where it does not help, it costs nothing.
    """
    for dtype in (torch.float32, torch.float64):
        special = torch.tensor([-0.0, 0.0, -1.0, math.inf, -math.inf, math.nan], dtype=dtype)
        torch.log1p(special)
        torch.expm1(special)
