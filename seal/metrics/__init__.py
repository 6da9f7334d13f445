"""The scores that validation and evaluation report, counted over batches and workers."""

from seal.metrics.bracket_score import BracketScore, bracket_counts
from seal.metrics.mask_score import MaskScore
from seal.metrics.multilabel_score import LabelSetScore, MultilabelScore, example_f1
from seal.metrics.names import OTHER_OUTPUTS, of_prediction
from seal.metrics.running_means import RunningMeans, SummedScore
from seal.metrics.srl_score import SrlScore
from seal.metrics.tagging_score import TaggingScore
from seal.metrics.unknown_gold import UnknownGold
from seal.structure.thresholds import best_label_thresholds, best_micro_threshold, best_threshold
