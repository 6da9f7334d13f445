from seal.predictors.multilabel import MultilabelPredictor
from seal.predictors.segmentation import SegmentationPredictor
from seal.predictors.srl import SrlPredictor
from seal.predictors.text_multilabel import TextMultilabelPredictor
