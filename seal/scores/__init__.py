from seal.scores.cost import Cost, HammingCost, L1Cost, OneMinusScore
from seal.scores.score import Score, SoftF1, SoftIoU, TokenAccuracy
