"""
The suites of `scripts/reproduce.py`: every module here has a list `SUITES`, and `FAMILIES` where several of
them are one on several data sets; a new suite is a new file.
"""
