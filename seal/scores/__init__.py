"""
Scores say how much an output resembles gold, in [0, 1]; costs say how much it differs. Both take relaxed outputs, too.
"""

from seal.scores.cost import Cost, HammingCost, L1Cost, OneMinusScore
from seal.scores.score import Score, SoftF1, SoftIoU, TokenAccuracy
