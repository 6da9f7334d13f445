"""
Scores say how much an output resembles gold, in [0, 1]; costs say how much it differs. Both take relaxed outputs, too.
"""

from seal.scores.score import Cost, HammingCost, L1Cost, OneMinusScore, Score, SoftF1, SoftIoU, TokenAccuracy
