from seal.metrics.srl_score import SrlScore
