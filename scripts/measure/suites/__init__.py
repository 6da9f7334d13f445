"""The suites of `scripts/reproduce.py`: every module here has a list `SUITES`; a new suite is a new file."""
