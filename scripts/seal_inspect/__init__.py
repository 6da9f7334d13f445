"""
Sub-commands of `seal` that look at models and runs: a page to try a model, a report on runs, what an energy has learned
of tags or labels, and two networks side by side. The library knows none of them; `setup.py` names them as entry points.
"""
