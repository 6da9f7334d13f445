"""
The suites of `scripts/reproduce.py`. Every module here has a list `SUITES` and, where its suites compare the same
methods on several data sets, a list `FAMILIES`. To add a suite, add a module.
"""
