"""
A package for each task: its reader, model, scores and predictor. `base` has what tasks share, and says what a task
gives.
"""

import seal.plugin  # noqa: F401  patches AllenNLP
