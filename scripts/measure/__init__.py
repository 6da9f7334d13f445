"""The parts of `scripts/reproduce.py` and `scripts/benchmark.py`."""
