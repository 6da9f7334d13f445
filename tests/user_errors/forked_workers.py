"""
The command `seal`, whose workers are forks, for tests of what is told of them: workers that are spawned import
everything again. A run with those is in tests/training/test_distributed.py.
"""

from functools import partial

import torch.multiprocessing

torch.multiprocessing.spawn = partial(torch.multiprocessing.start_processes, start_method="fork")

from seal.__main__ import run  # noqa: E402

if __name__ == "__main__":
    run()
