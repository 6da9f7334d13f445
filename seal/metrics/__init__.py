from seal.metrics.monitors import Monitors
from seal.metrics.srl_score import SrlScore
